package main

import (
	"os"
	"testing"

	"github.com/sallyport-sh/sallyport/app/config"
)

// What is generated is up to date: run go generate ./app/config after a change of the settings.
func TestUpToDate(t *testing.T) {
	t.Parallel()
	src, err := comments("../settings.go")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"../comments_gen.go": string(src), "../../../docs/config.md": config.Markdown()} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s is not what would be generated (%v)", path, err)
		}
	}
}
