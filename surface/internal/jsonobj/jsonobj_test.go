package jsonobj

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMembers(t *testing.T) {
	t.Parallel()
	got, err := Members([]byte(" { \"a\" : 1 , \"b\\u00e9\":{\"x\":[1,\"]}\"]},\"a\":\"\\\"\", \"c\":[ ] , \"d\":null}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Member{
		{"a", json.RawMessage("1")},
		{"b\u00e9", json.RawMessage(`{"x":[1,"]}"]}`)},
		{"a", json.RawMessage(`"\""`)},
		{"c", json.RawMessage("[ ]")},
		{"d", json.RawMessage("null")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "{", "[]", "1", `{"a":1}x`, `{"a":1,}`, `{"\ud800":1}`, strings.Repeat("[", 20_000), "nul"} {
		if m, err := Members([]byte(bad)); err == nil {
			t.Errorf("%.20q: %v", bad, m)
		}
	}
}

func TestElements(t *testing.T) {
	t.Parallel()
	got := Elements([]byte(` [1 , "a,b" , {"x":[2]}, [] ,null] `))
	want := []json.RawMessage{json.RawMessage("1"), json.RawMessage(`"a,b"`), json.RawMessage(`{"x":[2]}`), json.RawMessage("[]"), json.RawMessage("null")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := Elements([]byte("[]")); len(got) != 0 {
		t.Error(got)
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`""`:                          "",
		`"a\"\\\/\b\f\n\r\t"`:         "a\"\\/\b\f\n\r\t",
		`"h\u00e9\u4e16\ud83d\ude00"`: "h\u00e9\u4e16\U0001F600",
		"\"h\u00e9\u4e16\U0001F600\"": "h\u00e9\u4e16\U0001F600",
		`"\u0000"`:                    "\x00",
		`"\uFFFD"`:                    "\uFFFD",
	} {
		if got, err := String([]byte(in)); err != nil || got != want {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
	for _, bad := range []string{`"\ud800"`, `"\udc00"`, `"\ud83dx"`, `"\ud83d\u0041"`, `"\ud83d\n"`, "\"\xff\"", "1", "null"} {
		if got, err := String([]byte(bad)); err == nil {
			t.Errorf("%s: %q", bad, got)
		}
	}
}

// What is taken apart is what encoding/json sees.
func FuzzMembers(f *testing.F) {
	f.Add([]byte(`{"a":[1,2,{"b":"}"}],"c":"\ud83d\ude00","d":-1.5e9,"e":true}`))
	f.Add([]byte(`{"a":1,"a":2,"A":3}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		members, err := Members(data)
		if err != nil {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatalf("%q is no object for encoding/json: %v", data, err)
		}
		got := map[string]json.RawMessage{}
		for _, m := range members {
			got[m.Name] = m.Value
			var s string
			if json.Unmarshal(m.Value, &s) == nil && m.Value[0] == '"' {
				if mine, err := String(m.Value); err == nil && mine != s {
					t.Fatalf("%s is %q, want %q", m.Value, mine, s)
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}
