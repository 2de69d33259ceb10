package archtest

import (
	"os"
	"testing"

	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// TestHouse is the build's check of the floors, the budgets and the habits.
func TestHouse(t *testing.T) {
	t.Parallel()
	root, err := testenv.Root()
	if err != nil {
		t.Fatal(err)
	}
	tree, err := Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Check(tree, Sallyport) {
		t.Error(f)
	}
}

// TestExceptionsSayWhy: an exception without its reason is a hole that nobody can close again.
func TestExceptionsSayWhy(t *testing.T) {
	t.Parallel()
	for _, table := range []map[string]string{Sallyport.GOOS, Sallyport.Environment} {
		for name, reason := range table {
			if len(reason) < 10 {
				t.Errorf("the exception for %s has the reason %q", name, reason)
			}
		}
	}
}
