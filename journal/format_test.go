package journal

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-sh/sallyport"
)

// TestRowText pins the bytes of rows, as others read them.
func TestRowText(t *testing.T) {
	t.Parallel()
	body, err := encode(event(sallyport.EventRun, "a && b > c # \x1b[31m \u009b \u202e \u200b \u00e9 \U0001f600 \U000e0001 \xff \x00"))
	if err != nil {
		t.Fatal(err)
	}
	row, hash := line(genesis, 7, body)
	text := `a && b > c # \u001b[31m \u009b \u202e \u200b é 😀 \udb40\udc01 \ufffd \u0000`
	want := hash + ` {"seq":7,"kind":"run","at":"2026-11-30T19:49:07.5Z","request":"r1","session":"amber-atlas",` +
		`"caller":{"kind":"agent","role":2,"scope":"test@/srv","uid":1000,"surface":"mcp"},` +
		`"data":{"argv":["sh","-c","` + text + `"],"command":"` + text + `"}}` + "\n"
	if diff := cmp.Diff(want, string(row)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzEncode: whatever a caller records, a row is one line of printable text that reads back as what was recorded.
func FuzzEncode(f *testing.F) {
	f.Add("run", "echo hi", "\x1b]0;title\a\u2028\u009b\u202e", []byte(`{"a":[1,"\u0000"]}`))
	f.Add("", "\xff\xfe", "\U000e0001\u00ad", []byte("{"))
	f.Add("end", "", "\n\r\t\x7f", []byte("\"\x9b\""))
	f.Fuzz(func(t *testing.T, kind, id, text string, raw []byte) {
		e := sallyport.Event{Kind: sallyport.EventKind(kind), Session: sallyport.SessionID(id), Data: []any{text, json.RawMessage(raw)}}
		body, err := encode(e)
		if err != nil {
			return
		}
		row, hash := line(genesis, 1, body)
		if len(row) > MaxRow || !utf8.Valid(row) || row[len(row)-1] != '\n' {
			t.Fatalf("row %q", row)
		}
		for _, r := range string(row[:len(row)-1]) {
			if !unicode.IsPrint(r) {
				t.Fatalf("%q in %q", r, row)
			}
		}
		got, err := parse(row[:len(row)-1], genesis, 0)
		if err != nil || got.Hash != hash || got.Seq != 1 {
			t.Fatalf("%v: %q", err, row)
		}
		var data []json.RawMessage
		var back string
		if json.Unmarshal(got.Data, &data) != nil || json.Unmarshal(data[0], &back) != nil || utf8.ValidString(text) && back != text {
			t.Fatalf("%q came back as %q", text, back)
		}
	})
}

// FuzzRead: no content of a segment and of HEAD makes reading fail in another way than by saying what is bad.
func FuzzRead(f *testing.F) {
	body, err := encode(event(sallyport.EventRun, "true"))
	if err != nil {
		f.Fatal(err)
	}
	row, hash := line(genesis, 1, body)
	f.Add(row, mark{1, hash}.text())
	f.Add([]byte{}, []byte{})
	f.Add(append(row, 0, 0), mark{0, genesis}.text())
	f.Add([]byte("\x00\n"), []byte("sallyport-journal 1 -1 x\n"))
	f.Fuzz(func(t *testing.T, segment, head []byte) {
		dir := t.TempDir()
		chain := filepath.Join(dir, "20261130T194907.123Z-k3f5x2ab")
		if err := os.Mkdir(chain, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string][]byte{segmentName(1): segment, headName: head} {
			if err := os.WriteFile(filepath.Join(chain, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r := verify(t, dir)
		if len(r.Chains) != 1 || r.OK != (r.Chains[0].Bad == nil) {
			t.Fatalf("%+v", r)
		}
		_ = Tail(t.Context(), dir, 3, func(string, Row) error { return nil }) // it may say that rows are bad
	})
}
