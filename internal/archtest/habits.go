package archtest

import (
	"fmt"
	"go/ast"
	"slices"
)

// uses calls visit for every pkg.Name in the tree, where pkg is a package by its usual name.
func (t *Tree) uses(pkg string, visit func(f *file, sel *ast.SelectorExpr)) {
	for _, f := range t.files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && isPackage(sel.X, pkg) && importPath(f, pkg) != "" {
				visit(f, sel)
			}
			return true
		})
	}
}

// environment: read in one place.
func environment(t *Tree, h House) []Finding {
	const why = "an agent's client sets our environment: it is read once, by app, which decides what of it counts; " +
		"everything else gets values it can be tested with"
	readers := []string{"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Unsetenv", "Clearenv", "UserHomeDir", "UserConfigDir", "UserCacheDir"}
	var found []Finding
	for _, pkg := range []string{"os", "syscall", "unix"} {
		t.uses(pkg, func(f *file, sel *ast.SelectorExpr) {
			room, ok := h.room(f.dir)
			if f.test || !ok || room.Floor == Support || h.Environment[f.dir] != "" || !slices.Contains(readers, sel.Sel.Name) {
				return
			}
			what := fmt.Sprintf("%s calls %s.%s", f.dir, pkg, sel.Sel.Name)
			found = append(found, Finding{f.path, t.line(sel.Pos()), "environment", what, why})
		})
	}
	return found
}

// operatingSystem: differences live in files, not in branches.
func operatingSystem(t *Tree, h House) []Finding {
	const why = "a branch on the operating system cannot be compiled away, vetted or found: put it into a _linux.go, _windows.go … file; " +
		"where it is only data to be shown, name the file and the reason in internal/archtest/house.go"
	var found []Finding
	t.uses("runtime", func(f *file, sel *ast.SelectorExpr) {
		if sel.Sel.Name != "GOOS" || f.platform || h.GOOS[f.path] != "" {
			return
		}
		found = append(found, Finding{f.path, t.line(sel.Pos()), "operating system", "runtime.GOOS outside a platform file", why})
	})
	return found
}

// sleeps: tests wait for a condition.
func sleeps(t *Tree, h House) []Finding {
	const why = "a sleep is too short on a busy machine and too long on every other: wait for the condition (testenv.Eventually)"
	var found []Finding
	t.uses("time", func(f *file, sel *ast.SelectorExpr) {
		room, _ := h.room(f.dir)
		if sel.Sel.Name == "Sleep" && (f.test || room.Floor == Support) {
			found = append(found, Finding{f.path, t.line(sel.Pos()), "sleep", "time.Sleep in a test", why})
		}
	})
	return found
}

// skips: only testenv skips.
func skips(t *Tree, _ House) []Finding {
	const why = "a skip says what is missing and is a failure where everything must be there: use testenv.Missing"
	var found []Finding
	for _, f := range t.files {
		if f.dir == "internal/testenv" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
				found = append(found, Finding{f.path, t.line(sel.Pos()), "skip", "a test skips by itself", why})
			}
			return true
		})
	}
	return found
}

// lockFiles: a lock file says what, not from where.
func lockFiles(t *Tree, _ House) []Finding {
	const why = "the registry is the user's setting: keep the checksums, drop the addresses (npm: omit-lockfile-registry-resolved)"
	var found []Finding
	for _, p := range t.locks {
		found = append(found, Finding{p, 0, "lock file", "records download addresses", why})
	}
	return found
}
