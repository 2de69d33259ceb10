package config

import (
	"bytes"
	"errors"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/sallyport-sh/sallyport"
)

var seeds = []string{
	"", "workspace = '/srv' # why\n[exec]\nshell = \"/bin/sh\"\n", "exec.shell = ''\nexec.\"grace_ms\" = 1\n",
	"exec = { shell = '', path_prepend = [ '/a', # x\n ], }\n", "[agents.\"a.b\"]\nexec.grace_ms = 0x10\n",
	"a = \"\"\"x\\\"\"\"\"\"\nb = '''y''''\nc = [[1, {d = '}'}], [\"]\"]]\n", "[[x]]\n[[x.y]]\nz = 1979-05-27 07:32:00 # t\n",
	"\ufeff[exec]\r\nshell = ''\r\n", "[tools]\nfamilies = [\"exec\"]\n[tools.exec]\nsecurity = \"deny\"\n", "a = 1\n[\n", "k = \"\\",
	"[ a . 'b' ]\n\"\\u0061\" = {}\n", "[exec]\nbackground_ms = 9\nx = nan\n", "\xff\xfe",
}

// FuzzParse: any text gives a snapshot or a list of problems; and the scanner sees the keys that the parser sees.
func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l := scan(data) // must end, on any text
		s, err := Parse("f", data)
		if err == nil {
			if again, err := Parse("f", data); err != nil || again.Revision != s.Revision {
				t.Fatalf("parsed again: %v, %v", again, err)
			}
		} else if list, ok := errors.AsType[*Error](err); !ok || len(list.Problems) == 0 || !errors.Is(err, sallyport.Invalid) {
			t.Fatalf("a strange error: %#v", err)
		}
		doc, err := decodeTOML("f", data)
		if err != nil {
			return
		}
		meta, err := toml.Decode(string(data), new(map[string]any))
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range meta.Keys() {
			if l.line(key) == 0 {
				t.Errorf("the scanner does not see %q", []string(key))
			}
		}
		for _, e := range l.entries {
			if !meta.IsDefined(e.path...) && !inList(doc, e.path) {
				t.Errorf("the scanner sees %q", e.path)
			}
		}
	})
}

// inList reports whether a path leads through a list of tables, which the parser's IsDefined does not follow.
func inList(doc map[string]any, path []string) bool {
	for _, p := range path {
		switch v := doc[p].(type) {
		case map[string]any:
			doc = v
		case []map[string]any:
			return true
		default:
			return false
		}
	}
	return false
}

// FuzzSet: an edit is refused, or the result is valid, holds the value, and holds everything else as before.
func FuzzSet(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), "exec.grace_ms", "5")
		f.Add([]byte(s), "workspace", "/a\n\"b\\")
		f.Add([]byte(s), "agents.\"a.b\".exec.path_prepend", "/a,~/b")
		f.Add([]byte(s), "output.quota", "2MiB")
	}
	f.Fuzz(func(t *testing.T, data []byte, key, value string) {
		out, err := edit("f", data, key, value)
		if err != nil {
			return
		}
		s, err := Parse("f", out)
		if err != nil {
			t.Fatalf("the result is wrong: %v\n%s", err, out)
		}
		path, text, err := assignment(key, value)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Get(s, joinKey(path))
		if err != nil || literal(got) != text {
			t.Errorf("%s is %v (%v), want %s", key, got, err, text)
		}
		if scan(data).find(path) < 0 && !onlyAdds(data, out) {
			t.Errorf("more than an insertion:\n%q\n%q", data, out)
		}
		if again, err := edit("f", out, key, value); err != nil || string(again) != string(out) {
			t.Errorf("the same edit again changes it:\n%s\n%s, %v", out, again, err)
		}
	})
}

// onlyAdds reports whether b is a with something put in at one place.
func onlyAdds(a, b []byte) bool {
	p := 0
	for p < len(a) && p < len(b) && a[p] == b[p] {
		p++
	}
	return bytes.HasSuffix(b, a[p:])
}
