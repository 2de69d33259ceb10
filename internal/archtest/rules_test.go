package archtest

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// small is a house with one room of each sort. The rules are tried on it.
func small() House {
	return House{
		Module: "example.org/small",
		Rooms: []Room{
			{Dir: "mint", Floor: Foundation},
			{Dir: ".", Floor: Words},
			{Dir: "gate/policy", Floor: Tools},
			{Dir: "host/proc", Floor: Tools, Modules: []string{"golang.org/x/sys"}},
			{Dir: "gate", Floor: Parts},
			{Dir: "host/engine", Floor: Parts},
			{Dir: "app", Floor: Wiring},
			{Dir: "testhelp", Floor: Support},
		},
		TestModules: []string{"github.com/google/go-cmp"},
		Wings:       []string{"gate", "host"},
		Mint:        "mint",
		Minters:     []string{".", "gate"},
		Environment: map[string]string{},
		GOOS:        map[string]string{},
	}
}

// load reads an archive as the source of the small house, whose table then has only the rooms that are there.
func load(t *testing.T, archive *txtar.Archive) (*Tree, House) {
	t.Helper()
	source := fstest.MapFS{}
	for _, f := range archive.Files {
		source[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	tree, err := Load(source)
	if err != nil {
		t.Fatal(err)
	}
	h := small()
	if slices.ContainsFunc(archive.Files, func(f txtar.File) bool { return path.Dir(f.Name) == "app" }) {
		h.Environment["app"] = "the composition root"
	}
	h.Rooms = slices.DeleteFunc(h.Rooms, func(r Room) bool {
		return !slices.ContainsFunc(archive.Files, func(f txtar.File) bool { return path.Dir(f.Name) == r.Dir })
	})
	return tree, h
}

// places are findings in short: "file:line rule".
func places(found []Finding) []string {
	var short []string
	for _, f := range found {
		short = append(short, fmt.Sprintf("%s:%d %s", f.File, f.Line, f.Rule))
	}
	return short
}

// TestRules tries every rule on a small source that breaks it, and on its neighbours that do not. The head of each
// archive lists what must be found, and nothing else may be.
func TestRules(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			tree, house := load(t, archive)
			want := strings.Split(strings.TrimSpace(string(archive.Comment)), "\n")
			if diff := cmp.Diff(want, places(Check(tree, house))); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBudgets: sizes are made here, since nobody wants to read five hundred empty lines.
func TestBudgets(t *testing.T) {
	t.Parallel()
	blank := func(n int) string { return strings.Repeat("\n", n) }
	function := func(lines int) string { return "func f() {" + blank(lines-1) + "}\n" }
	for _, tt := range []struct {
		name, file, source, want string
	}{
		{"file of 500 lines", "gate/a.go", "// Package gate is.\npackage gate\n" + blank(498), ""},
		{"file of 501 lines", "gate/a.go", "// Package gate is.\npackage gate\n" + blank(499), "gate/a.go:0 file size"},
		{"test file of 501 lines", "gate/a_test.go", "// Package gate is.\npackage gate\n" + blank(499), "gate/a_test.go:0 file size"},
		{"function of 70 lines", "gate/a.go", "// Package gate is.\npackage gate\n" + function(70), ""},
		{"function of 71 lines", "gate/a.go", "// Package gate is.\npackage gate\n" + function(71), "gate/a.go:3 function size"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tree, house := load(t, &txtar.Archive{Files: []txtar.File{{Name: tt.file, Data: []byte(tt.source)}}})
			if got := strings.Join(places(Check(tree, house)), "\n"); got != tt.want {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

// TestRootBudget: only code counts, and not that of tests.
func TestRootBudget(t *testing.T) {
	t.Parallel()
	half := "// Package small is.\npackage small\n" + strings.Repeat("\n// A comment.\nvar _ = 1 // and another\n", 299)
	files := []txtar.File{{Name: "a.go", Data: []byte(half)}, {Name: "b.go", Data: []byte(half)}, {Name: "c_test.go", Data: []byte(half)}}
	tree, house := load(t, &txtar.Archive{Files: files})
	if found := rootLines(tree, house); len(found) != 0 {
		t.Errorf("600 lines are within the budget: %v", found)
	}
	files[1].Data = append(files[1].Data, "var _ = 2\n"...)
	tree, house = load(t, &txtar.Archive{Files: files})
	if found := rootLines(tree, house); len(found) != 1 {
		t.Errorf("601 lines: found %v", found)
	}
}

// TestStale: the table is part of what is checked.
func TestStale(t *testing.T) {
	t.Parallel()
	tree, house := load(t, &txtar.Archive{Files: []txtar.File{{Name: "gate/a.go", Data: []byte("// Package gate is.\npackage gate\n")}}})
	house.Rooms = append(house.Rooms, Room{Dir: "cellar", Floor: Tools})
	house.GOOS["gate/gone.go"] = "it was needed once"
	want := []string{"cellar:0 stale", "gate/gone.go:0 stale"}
	if diff := cmp.Diff(want, places(Check(tree, house))); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// TestFindingSaysWhy: who breaks a rule reads the reason at once.
func TestFindingSaysWhy(t *testing.T) {
	t.Parallel()
	f := Finding{"gate/gate.go", 7, "floors", "gate imports app", floorWhy}
	want := "gate/gate.go:7: gate imports app (floors)\n\twhy: " + floorWhy
	if f.String() != want {
		t.Errorf("%q, want %q", f, want)
	}
}

// TestLoadPassesOver: other people's code and other modules are not ours to judge.
func TestLoadPassesOver(t *testing.T) {
	t.Parallel()
	broken := &fstest.MapFile{Data: []byte("not go")}
	tree, err := Load(fstest.MapFS{
		"gate/testdata/x.go": broken, "web/node_modules/x/x.go": broken, ".git/x.go": broken, "_old/x.go": broken,
		"tools/go.mod": broken, "tools/x.go": broken, "bin/x.go": broken,
	})
	if err != nil || len(tree.files) != 0 {
		t.Errorf("read %d files: %v", len(tree.files), err)
	}
	var notGo fs.FS = fstest.MapFS{"gate/x.go": broken}
	if _, err := Load(notGo); err == nil {
		t.Error("a file that does not parse was passed over")
	}
}
