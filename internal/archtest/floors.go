package archtest

import (
	"fmt"
	"go/ast"
	"slices"
	"strconv"
	"strings"
)

// A House says how a module is built: its rooms, and the exceptions to its habits with their reasons.
type House struct {
	Module string // import path of the root package
	Rooms  []Room
	// TestModules may be used by every test and every room of the floor Support.
	TestModules []string
	// Wings are directories whose packages do not know each other's wings: they meet in the words of the root.
	Wings []string
	// Mint is the package that makes grants, and Minters may import it.
	Mint    string
	Minters []string
	// Environment lists the rooms that may read the process environment, each with what for.
	Environment map[string]string
	// GOOS lists files that use runtime.GOOS as plain data, each with what for.
	GOOS map[string]string
}

// A Room is a package and the floor it stands on.
type Room struct {
	Dir     string // from the module's root, "." for the root itself
	Floor   Floor
	Modules []string // modules outside the standard library that it may use
}

// A Floor is a height. A package imports only packages on lower floors.
type Floor int

// Floors, lowest first. Support is for what only tests use: it may know everything, and nothing that ships knows it.
const (
	Foundation Floor = iota
	Words
	Tools
	Parts
	Families
	Servers
	Settings
	Wiring
	CommandLine
	Binary
	Support
)

const (
	floorWhy = "a package knows only what is below it, so that each can be read, tested and embedded without what is above it; " +
		"speak in the interfaces of the root package and let app join the parts (internal/archtest/house.go is the table)"
	newRoomWhy = "the table of floors is the architecture: decide where the package belongs and add it to internal/archtest/house.go"
	sidewayWhy = "the wings meet only in the words of the root package and are joined by app; " +
		"a test can then put a fake in any place, and no path to a host goes round the gate"
	mintWhy    = "whoever can make a grant can run anything: only the gate may"
	supportWhy = "what tests use must not be linked into the product"
	moduleWhy  = "a dependency belongs to the room that exists for it, so that it can be replaced there; " +
		"a new one is a line in docs/adr/0006-dependencies.md and in internal/archtest/house.go"
)

func (h House) room(dir string) (Room, bool) {
	i := slices.IndexFunc(h.Rooms, func(r Room) bool { return r.Dir == dir })
	if i < 0 {
		return Room{}, false
	}
	return h.Rooms[i], true
}

// local turns an import path into a directory of this module.
func (h House) local(path string) (dir string, ok bool) {
	if path == h.Module {
		return ".", true
	}
	return strings.CutPrefix(path, h.Module+"/")
}

// wing is the wing that a directory stands in; empty for none.
func (h House) wing(dir string) string {
	for _, w := range h.Wings {
		if dir == w || strings.HasPrefix(dir, w+"/") {
			return w
		}
	}
	return ""
}

// imports calls visit for every import of every file.
func (t *Tree) imports(visit func(f *file, spec *ast.ImportSpec, path string)) {
	for _, f := range t.files {
		for _, spec := range f.ast.Imports {
			if path, err := strconv.Unquote(spec.Path.Value); err == nil {
				visit(f, spec, path)
			}
		}
	}
}

// floors: imports inside the module go downwards, and never from one wing to another.
func floors(t *Tree, h House) []Finding {
	var found []Finding
	for dir, files := range t.packages() {
		if _, ok := h.room(dir); !ok {
			found = append(found, Finding{files[0].path, 0, "floors", fmt.Sprintf("package %s stands on no floor", dir), newRoomWhy})
		}
	}
	t.imports(func(f *file, spec *ast.ImportSpec, path string) {
		dir, ok := h.local(path)
		if !ok || dir == f.dir {
			return
		}
		what, why := h.allowed(f, dir)
		if what != "" {
			found = append(found, Finding{f.path, t.line(spec.Pos()), "floors", what, why})
		}
	})
	return found
}

// allowed says what is wrong with a file importing a package of the module; nothing if it may.
func (h House) allowed(f *file, dir string) (what, why string) {
	from, ok := h.room(f.dir)
	if !ok {
		return "", "" // reported once, for the package
	}
	to, ok := h.room(dir)
	if !ok {
		return "", ""
	}
	test := f.test || from.Floor == Support
	switch {
	case dir == h.Mint:
		if test || slices.Contains(h.Minters, f.dir) {
			return "", ""
		}
		return fmt.Sprintf("%s imports %s", f.dir, dir), mintWhy
	case to.Floor == Support:
		if test {
			return "", ""
		}
		return fmt.Sprintf("%s imports %s, which is for tests", f.dir, dir), supportWhy
	case from.Floor == Support:
		return "", ""
	case to.Floor >= from.Floor:
		if f.test && to.Floor == from.Floor { // an integration test may put the real neighbour where a fake could stand
			return "", ""
		}
		return fmt.Sprintf("%s (floor %d) imports %s (floor %d)", f.dir, from.Floor, dir, to.Floor), floorWhy
	case f.test:
		return "", ""
	}
	if a, b := h.wing(f.dir), h.wing(dir); a != "" && b != "" && a != b {
		return fmt.Sprintf("%s reaches from the wing %s into %s", f.dir, a, dir), sidewayWhy
	}
	return "", ""
}

// modules: what a room may use from outside.
func modules(t *Tree, h House) []Finding {
	var found []Finding
	t.imports(func(f *file, spec *ast.ImportSpec, path string) {
		first, _, _ := strings.Cut(path, "/")
		if _, local := h.local(path); local || !strings.Contains(first, ".") {
			return // ours, or the standard library
		}
		room, ok := h.room(f.dir)
		if !ok {
			return
		}
		allowed := slices.Clone(room.Modules)
		if f.test || room.Floor == Support {
			allowed = append(allowed, h.TestModules...)
		}
		if !slices.ContainsFunc(allowed, func(m string) bool { return path == m || strings.HasPrefix(path, m+"/") }) {
			what := fmt.Sprintf("%s uses %s", f.dir, path)
			found = append(found, Finding{f.path, t.line(spec.Pos()), "modules", what, moduleWhy})
		}
	})
	return found
}

// stale: the table names only what exists.
func stale(t *Tree, h House) []Finding {
	const why = "the table is read as the description of the house: a row or an exception without its file misleads"
	packages := t.packages()
	var found []Finding
	for _, r := range h.Rooms {
		if packages[r.Dir] == nil {
			found = append(found, Finding{r.Dir, 0, "stale", "the table has a row for " + r.Dir + ", which does not exist", why})
		}
	}
	for dir := range h.Environment {
		if packages[dir] == nil {
			found = append(found, Finding{dir, 0, "stale", "an exception names " + dir + ", which does not exist", why})
		}
	}
	for name := range h.GOOS {
		if !slices.ContainsFunc(t.files, func(f *file) bool { return f.path == name }) {
			found = append(found, Finding{name, 0, "stale", "an exception names " + name + ", which does not exist", why})
		}
	}
	return found
}
