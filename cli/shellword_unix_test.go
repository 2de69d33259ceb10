//go:build unix

package cli

import (
	"os/exec"
	"testing"
)

// A real shell reads the words back.
func TestShellWord(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"", "a", "/opt/x-1.2/bin", "a b", "it's", `"$HOME"`, "`id`", "\\", "a\nb", "*", "~", "ü", ";", "!!"} {
		out, err := exec.Command("/bin/sh", "-c", "printf %s "+shellWord(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q was quoted as %s and read as %q (%v)", word, shellWord(word), out, err)
		}
	}
}
