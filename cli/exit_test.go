package cli

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/app/config"
)

// Every code of the product has an exit code.
func TestExitTableIsTotal(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "../error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); !ok || id.Name != "Code" {
			return true
		}
		for _, v := range spec.Values {
			text, err := strconv.Unquote(v.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes++
			if exitOf[sallyport.Code(text)] == 0 {
				t.Errorf("code %q has no exit code", text)
			}
		}
		return true
	})
	if codes != len(exitOf) {
		t.Errorf("the product has %d codes, the table %d", codes, len(exitOf))
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	file := &config.Error{File: "f", Problems: []config.Problem{{Line: 3, Key: "exec.kil", Msg: "unknown key", Hint: "did you mean exec.kill?"}}}
	for _, c := range []struct {
		err  error
		exit Exit
		text string
	}{
		{nil, 0, ""},
		{errors.New("broken"), 125, "error: broken\n"},
		{&usageError{"bad", "good"}, 2, "error: bad\nhint: good\n"},
		{&sallyport.Error{Code: sallyport.Denied, Op: "gate", Msg: "no", Hint: "ask"}, 4, "error: no\nhint: ask\n"},
		{&sallyport.Error{Code: sallyport.Unavailable, Msg: "no disk", Err: errors.New("ENOSPC")}, 75, "error: no disk: ENOSPC\n"},
		{fmt.Errorf("x: %w", &sallyport.Error{Code: sallyport.NotFound, Msg: "none"}), 5, "error: none\n"},
		{file, 2, "error: f: line 3: exec.kil: unknown key\nhint: did you mean exec.kill?\n"},
		{&ExitError{Code: 9}, 9, ""},
		{&ExitError{Code: 9, Err: errors.New("row 3")}, 9, "error: row 3\n"},
		{&ExitError{Code: 42}, 42, ""},
	} {
		var b bytes.Buffer
		if exit := report(&b, c.err); exit != c.exit || b.String() != c.text {
			t.Errorf("%v: exit %d, %q; want %d, %q", c.err, exit, b.String(), c.exit, c.text)
		}
	}
}
