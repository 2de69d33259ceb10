package archtest

import (
	"fmt"
	"go/ast"
	"strconv"
)

// The budgets. They were chosen by looking at well-read Go code, whose files have a median of 80 to 190 lines, and
// which hurts where these numbers are passed.
const (
	maxFileLines     = 500
	maxRootLines     = 600 // of code in the root package: its comments are what it is for
	maxFunctionLines = 70
	maxMethods       = 6
	maxParameters    = 4
)

// fileLines: tests too, as they are read as often.
func fileLines(t *Tree, _ House) []Finding {
	const why = "a file is one role that can be read in one sitting: split it by role"
	var found []Finding
	for _, f := range t.files {
		if f.lines > maxFileLines {
			what := fmt.Sprintf("%d lines, at most %d", f.lines, maxFileLines)
			found = append(found, Finding{f.path, 0, "file size", what, why})
		}
	}
	return found
}

// rootLines: the words stay few.
func rootLines(t *Tree, _ House) []Finding {
	const why = "the root package is the vocabulary that everybody must know: a type enters it only if two floors need it"
	sum, first := 0, ""
	for _, f := range t.packages()["."] {
		if !f.test {
			sum += f.code
			first = f.path
		}
	}
	if sum <= maxRootLines {
		return nil
	}
	return []Finding{{first, 0, "root size", fmt.Sprintf("the root package has %d lines of code, at most %d", sum, maxRootLines), why}}
}

// functions calls visit for every function and method that has a body.
func (t *Tree) functions(visit func(*file, *ast.FuncDecl)) {
	for _, f := range t.files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				visit(f, fn)
			}
		}
	}
}

// functionLines: from func to the closing brace.
func functionLines(t *Tree, _ House) []Finding {
	const why = "a function fits on a screen: name its parts, or move tables of data out of it"
	var found []Finding
	t.functions(func(f *file, fn *ast.FuncDecl) {
		if n := t.line(fn.End()) - t.line(fn.Pos()) + 1; n > maxFunctionLines {
			what := fmt.Sprintf("%s has %d lines, at most %d", fn.Name.Name, n, maxFunctionLines)
			found = append(found, Finding{f.path, t.line(fn.Pos()), "function size", what, why})
		}
	})
	return found
}

// parameters: of functions, methods and interface methods. A context is not counted.
func parameters(t *Tree, _ House) []Finding {
	const why = "a long list of parameters is a struct without names: callers swap what has the same type"
	var found []Finding
	check := func(f *file, name *ast.Ident, fn *ast.FuncType) {
		if n := countParameters(fn); n > maxParameters {
			what := fmt.Sprintf("%s takes %d parameters, at most %d", name.Name, n, maxParameters)
			found = append(found, Finding{f.path, t.line(name.Pos()), "parameters", what, why})
		}
	}
	t.functions(func(f *file, fn *ast.FuncDecl) { check(f, fn.Name, fn.Type) })
	for _, f := range t.files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			iface, ok := n.(*ast.InterfaceType)
			if !ok {
				return true
			}
			for _, m := range iface.Methods.List {
				if fn, ok := m.Type.(*ast.FuncType); ok && len(m.Names) == 1 {
					check(f, m.Names[0], fn)
				}
			}
			return true
		})
	}
	return found
}

func countParameters(fn *ast.FuncType) int {
	n := 0
	for _, field := range fn.Params.List {
		if sel, ok := field.Type.(*ast.SelectorExpr); ok && isPackage(sel.X, "context") && sel.Sel.Name == "Context" {
			continue
		}
		n += max(1, len(field.Names))
	}
	return n
}

// isPackage reports whether an expression is the name of a package as it is usually imported.
func isPackage(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}

// outside is the number of methods of interfaces of the standard library that are embedded.
var outside = map[string]int{
	"error": 1, "any": 0, "comparable": 0,
	"io.Reader": 1, "io.Writer": 1, "io.Closer": 1, "io.ReadCloser": 2, "io.WriteCloser": 2, "io.ReadWriteCloser": 3,
	"io.ReaderAt": 1, "io.WriterAt": 1, "io.StringWriter": 1, "fmt.Stringer": 1, "sort.Interface": 3,
}

// declared is where an interface is found again.
type declared struct {
	file  *file
	iface *ast.InterfaceType
}

// interfaces: the methods of embedded ones are counted.
func interfaces(t *Tree, h House) []Finding {
	const why = "a small interface can be implemented, faked and wrapped: split it by the role of who calls it"
	all := map[string]declared{} // by directory and name
	for _, f := range t.files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if iface, ok := spec.Type.(*ast.InterfaceType); ok {
					all[f.dir+"."+spec.Name.Name] = declared{f, iface}
				}
			}
			return true
		})
	}
	var found []Finding
	for name, d := range all {
		n, unknown := countMethods(all, d, h)
		if unknown != "" {
			what := fmt.Sprintf("%s embeds %s, whose size is not known here", name, unknown)
			found = append(found, Finding{d.file.path, t.line(d.iface.Pos()), "interface size", what, "add it to the table in budgets.go: " + why})
		}
		if n > maxMethods {
			what := fmt.Sprintf("%s has %d methods, at most %d", name, n, maxMethods)
			found = append(found, Finding{d.file.path, t.line(d.iface.Pos()), "interface size", what, why})
		}
	}
	return found
}

// countMethods counts an interface's methods. unknown names an embedded type that could not be looked into.
func countMethods(all map[string]declared, d declared, h House) (n int, unknown string) {
	for _, m := range d.iface.Methods.List {
		if len(m.Names) > 0 {
			n += len(m.Names)
			continue
		}
		switch x := m.Type.(type) {
		case *ast.Ident:
			if size, ok := outside[x.Name]; ok {
				n += size
			} else if e, ok := all[d.file.dir+"."+x.Name]; ok {
				more, u := countMethods(all, e, h)
				n, unknown = n+more, unknown+u
			} else {
				unknown += x.Name
			}
		case *ast.SelectorExpr:
			pkg, ok := x.X.(*ast.Ident)
			if !ok {
				continue
			}
			dir, local := h.local(importPath(d.file, pkg.Name))
			if e, ok := all[dir+"."+x.Sel.Name]; local && ok {
				more, u := countMethods(all, e, h)
				n, unknown = n+more, unknown+u
			} else if size, ok := outside[pkg.Name+"."+x.Sel.Name]; ok {
				n += size
			} else {
				unknown += pkg.Name + "." + x.Sel.Name
			}
		}
	}
	return n, unknown
}

// importPath is what a package name stands for in a file. Without a name of its own an import is known by the last
// element of its path.
func importPath(f *file, name string) string {
	for _, spec := range f.ast.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		if spec.Name != nil && spec.Name.Name == name || spec.Name == nil && lastElement(path) == name {
			return path
		}
	}
	return ""
}
