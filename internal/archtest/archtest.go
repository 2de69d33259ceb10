// Package archtest keeps the house in order: which package may know which (the floors), how large things may grow (the
// budgets), and habits that no compiler checks. Its test runs all rules over the whole module and fails with the place,
// the rule and the reason for the rule.
//
// The table in floors.go is the architecture. A package that stands on no floor fails the build until somebody decides
// where it belongs. The package reads source text only: it type-checks nothing, so that files of every operating system
// are seen alike.
package archtest

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// A Finding is a place that breaks a rule.
type Finding struct {
	File string // slash-separated, from the module's root
	Line int    // 0: the file or the package as a whole
	Rule string // short name
	What string // what is wrong there
	Why  string // why the rule exists, and what to do instead
}

func (f Finding) String() string {
	place := f.File
	if f.Line > 0 {
		place = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return fmt.Sprintf("%s: %s (%s)\n\twhy: %s", place, f.What, f.Rule, f.Why)
}

// A Tree is the parsed source of a module.
type Tree struct {
	fset  *token.FileSet
	files []*file
	locks []string // package-lock.json files that record where packages were downloaded from
}

// A file is one Go file of the tree.
type file struct {
	path     string // slash-separated, from the root
	dir      string // its package: "." is the root
	test     bool   // name ends in _test.go
	platform bool   // built for some operating systems only
	lines    int
	code     int // lines that hold more than a comment
	ast      *ast.File
}

// Load parses every Go file under fsys, whatever it is built for. Directories that the go command ignores, other
// modules and installed JavaScript are passed over.
func Load(fsys fs.FS) (*Tree, error) {
	t := &Tree{fset: token.NewFileSet()}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return t.enter(fsys, p)
		case strings.HasSuffix(p, ".go"):
			return t.add(fsys, p)
		case path.Base(p) == "package-lock.json":
			return t.addLock(fsys, p)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load source: %w", err)
	}
	return t, nil
}

// enter says whether to go down into a directory.
func (t *Tree) enter(fsys fs.FS, dir string) error {
	if dir == "." {
		return nil
	}
	base := path.Base(dir)
	if base == "testdata" || base == "node_modules" || base == "bin" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	if _, err := fs.Stat(fsys, path.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func (t *Tree) add(fsys fs.FS, p string) error {
	src, err := fs.ReadFile(fsys, p)
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(t.fset, p, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	t.files = append(t.files, &file{
		path: p, dir: path.Dir(p), test: strings.HasSuffix(p, "_test.go"),
		platform: forPlatform(p, parsed), lines: bytes.Count(src, []byte("\n")), code: codeLines(src), ast: parsed,
	})
	return nil
}

// codeLines counts the lines on which a token begins. The scanner without its comment mode passes comments over, and
// sets a semicolon at the end of most lines, which is none that anybody wrote.
func codeLines(src []byte) int {
	var s scanner.Scanner
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(src))
	s.Init(file, src, nil, 0)
	n, last := 0, 0
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return n
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue
		}
		if line := file.Line(pos); line != last {
			n, last = n+1, line
		}
	}
}

func (t *Tree) addLock(fsys fs.FS, p string) error {
	src, err := fs.ReadFile(fsys, p)
	if err != nil {
		return err
	}
	if bytes.Contains(src, []byte(`"resolved": "http`)) {
		t.locks = append(t.locks, p)
	}
	return nil
}

// systems are the operating systems that this module has files for. "unix" is a build tag, and a file suffix by habit.
var systems = []string{"linux", "darwin", "windows", "unix"}

// forPlatform reports whether a file's name or its build line restricts it to some operating systems.
func forPlatform(p string, f *ast.File) bool {
	name := strings.TrimSuffix(strings.TrimSuffix(path.Base(p), ".go"), "_test")
	if _, suffix, ok := strings.Cut(name, "_"); ok {
		for part := range strings.SplitSeq(suffix, "_") {
			if slices.Contains(systems, part) {
				return true
			}
		}
	}
	for _, group := range f.Comments {
		for _, c := range group.List {
			if c.Pos() > f.Package || !constraint.IsGoBuild(c.Text) {
				continue
			}
			if slices.ContainsFunc(systems, func(s string) bool { return strings.Contains(c.Text, s) }) {
				return true
			}
		}
	}
	return false
}

// line is the line of a position.
func (t *Tree) line(p token.Pos) int { return t.fset.Position(p).Line }

// packages groups the files by directory.
func (t *Tree) packages() map[string][]*file {
	packages := map[string][]*file{}
	for _, f := range t.files {
		packages[f.dir] = append(packages[f.dir], f)
	}
	return packages
}

// A rule looks at a whole tree.
type rule func(*Tree, House) []Finding

var rules = []rule{
	floors, modules, stale,
	fileLines, rootLines, functionLines, parameters, interfaces,
	packageComments, exportedComments,
	environment, operatingSystem, sleeps, skips, lockFiles,
}

// Check applies every rule and returns what breaks one, in order of place.
func Check(t *Tree, h House) []Finding {
	var all []Finding
	for _, r := range rules {
		all = append(all, r(t, h)...)
	}
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
	})
	return all
}
