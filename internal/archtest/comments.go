package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"strings"
)

// lastElement is the usual package name of an import path.
func lastElement(importPath string) string { return path.Base(importPath) }

// packageComments: one a package, in the form that go doc shows.
func packageComments(t *Tree, _ House) []Finding {
	const why = "a package's comment says what it owns, what it does not, and its invariants: it is the first thing a reader needs"
	var found []Finding
	for dir, files := range t.packages() {
		ok := false
		for _, f := range files {
			text := f.ast.Doc.Text()
			ok = ok || strings.HasPrefix(text, "Package "+f.ast.Name.Name+" ") ||
				f.ast.Name.Name == "main" && strings.HasPrefix(text, "Command ")
		}
		if !ok {
			name := files[0].ast.Name.Name
			what := fmt.Sprintf("package %s has no comment that begins with %q", dir, "Package "+name+" ")
			if name == "main" {
				what = fmt.Sprintf("package %s has no comment that begins with %q", dir, "Command ")
			}
			found = append(found, Finding{files[0].path, 0, "package comment", what, why})
		}
	}
	return found
}

// common are methods whose meaning their name fixes.
var common = map[string]bool{
	"Error": true, "Unwrap": true, "Is": true, "String": true, "Read": true, "Write": true, "Close": true,
	"ServeHTTP": true, "Len": true, "Less": true, "Swap": true, "LogValue": true,
}

// exportedComments: of everything exported outside tests.
func exportedComments(t *Tree, _ House) []Finding {
	const why = "a comment states the contract: meaning, units, ranges, errors, and where an odd number comes from"
	var found []Finding
	miss := func(f *file, pos token.Pos, name string) {
		found = append(found, Finding{f.path, t.line(pos), "exported comment", name + " is exported and has no comment", why})
	}
	for _, f := range t.files {
		if f.test || f.ast.Name.Name == "main" {
			continue
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Doc == nil && exportedFunc(d) {
					miss(f, d.Pos(), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if name, ok := uncommented(d, spec); ok {
						miss(f, spec.Pos(), name)
					}
				}
			}
		}
	}
	return found
}

// exportedFunc reports whether a function needs a comment: its name, and the type that it is a method of, are exported.
func exportedFunc(d *ast.FuncDecl) bool {
	if !d.Name.IsExported() {
		return false
	}
	if d.Recv == nil {
		return true
	}
	if common[d.Name.Name] {
		return false
	}
	x := d.Recv.List[0].Type
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	switch generic := x.(type) {
	case *ast.IndexExpr:
		x = generic.X
	case *ast.IndexListExpr:
		x = generic.X
	}
	id, ok := x.(*ast.Ident)
	return ok && id.IsExported()
}

// uncommented returns the first exported name of a declaration that no comment speaks of. A group's own comment covers
// its constants and variables, not its types.
func uncommented(d *ast.GenDecl, spec ast.Spec) (string, bool) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		grouped := d.Lparen.IsValid()
		if s.Name.IsExported() && s.Doc == nil && s.Comment == nil && (grouped || d.Doc == nil) {
			return s.Name.Name, true
		}
	case *ast.ValueSpec:
		if d.Doc != nil || s.Doc != nil || s.Comment != nil {
			return "", false
		}
		for _, n := range s.Names {
			if n.IsExported() {
				return n.Name, true
			}
		}
	}
	return "", false
}
