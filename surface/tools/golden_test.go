package tools

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/surfacetest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// A scenario file has the parts
//
//	programs      JSON: command → steps
//	N.call        JSON: a step of the test, in order
//	N.text        the text of its result
//	N.meta        the machine-readable result
//
// and any other part is output that a program prints by its name.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) { play(t, archive) })
			if *update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A goldenCall is one step of a scenario.
type goldenCall struct {
	After    string // wait so long first
	Tool     string
	Args     json.RawMessage
	Error    bool // isError is expected
	Settings *struct {
		Process   *bool
		MaxOutput int
		Pending   int
	}
	Scope string
}

// A goldenStep is one step of a program.
type goldenStep struct {
	Sleep   string
	Print   string
	Err     string
	File    string // part of the archive
	Repeat  int    // times for Print
	Warn    string
	Drop    [2]int64
	Left    []sallyport.Process
	Holding bool
	Read    bool // a line of input, printed
	Exit    *int
	Outcome *sallyport.Outcome
	Refuse  *sallyport.Error
}

func play(t *testing.T, archive *txtar.Archive) {
	parts := map[string][]byte{}
	for _, f := range archive.Files {
		parts[f.Name] = f.Data
	}
	fake := surfacetest.New()
	defer fake.Close()
	programs := map[string][]goldenStep{}
	strict(t, parts["programs"], &programs)
	for command, steps := range programs {
		if len(steps) > 0 && steps[0].Refuse != nil {
			fake.Refuse(command, steps[0].Refuse)
			continue
		}
		fake.On(command, func(s *surfacetest.Session) { perform(s, steps, parts) })
	}
	set := DefaultSettings()
	x := NewExec(fake, func(string) Settings { return set })
	for n := 1; parts[fmt.Sprintf("%d.call", n)] != nil; n++ {
		var c goldenCall
		strict(t, parts[fmt.Sprintf("%d.call", n)], &c)
		set = settingsOf(c)
		if c.After == "" {
			c.After = "10ms" // the programs of earlier calls come first
		}
		<-time.After(duration(t, c.After))
		if c.Scope == "" {
			c.Scope = "claude-code@/srv/app"
		}
		res := x.Call(t.Context(), Call{Name: c.Tool, Args: c.Args, Caller: sallyport.Caller{
			Kind: sallyport.Agent, Scope: sallyport.Scope(c.Scope), Workspace: "/srv/app",
		}})
		meta, err := json.MarshalIndent(res.Structured, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, archive, fmt.Sprintf("%d.text", n), res.Text)
		golden(t, archive, fmt.Sprintf("%d.meta", n), string(meta))
		if res.IsError != c.Error {
			t.Errorf("call %d: isError is %v", n, res.IsError)
		}
	}
}

func settingsOf(c goldenCall) Settings {
	set := DefaultSettings()
	if c.Settings == nil {
		return set
	}
	if c.Settings.Process != nil {
		set.Process = *c.Settings.Process
	}
	if c.Settings.MaxOutput > 0 {
		set.MaxOutput = c.Settings.MaxOutput
	}
	if c.Settings.Pending > 0 {
		set.Pending = c.Settings.Pending
	}
	return set
}

// perform is a program of a scenario.
func perform(s *surfacetest.Session, steps []goldenStep, parts map[string][]byte) {
	for i, step := range steps {
		if i == 0 && step.Sleep == "" {
			step.Sleep = "1ms" // the answer to a background call comes first
		}
		if step.Sleep != "" {
			if d, err := time.ParseDuration(step.Sleep); err == nil && !s.Sleep(d) {
				return
			}
		}
		s.Print("%s", strings.Repeat(step.Print, max(step.Repeat, 1)))
		s.PrintErr("%s", step.Err)
		s.Print("%s", parts[step.File])
		if step.Read {
			line, _ := s.ReadLine()
			s.Print("%s", line)
		}
		if step.Warn != "" {
			s.Warn(step.Warn)
		}
		if step.Drop[1] > 0 {
			s.Drop(sallyport.Offset(step.Drop[0]), step.Drop[1])
		}
		if step.Left != nil {
			s.Leave(step.Holding, step.Left...)
		}
		if step.Outcome != nil {
			s.Finish(*step.Outcome)
		}
		if step.Exit != nil {
			s.Exit(*step.Exit)
		}
	}
}

func duration(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func strict(t *testing.T, data []byte, v any) {
	t.Helper()
	if len(data) == 0 {
		return
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
}

// golden compares a text with a part of the archive, or writes it there.
func golden(t *testing.T, archive *txtar.Archive, name, got string) {
	t.Helper()
	got += "\n"
	for i, f := range archive.Files {
		if f.Name == name {
			if *update {
				archive.Files[i].Data = []byte(got)
			} else if diff := cmp.Diff(string(f.Data), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			return
		}
	}
	if !*update {
		t.Errorf("no %s; got:\n%s", name, got)
		return
	}
	archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(got)})
}
