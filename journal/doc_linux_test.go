package journal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// TestDocumentedCommands runs the shell lines of the package comment, as they stand there, on a live and a closed
// chain: the format can be verified without this program.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bash", "jq", "sha256sum"} {
		testenv.NeedProgram(t, name)
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var script []string
	for l := range strings.Lines(string(doc)) {
		l, ok := strings.CutPrefix(l, "//\t")
		if ok && (len(script) > 0 || strings.HasPrefix(l, "cat ")) {
			script = append(script, l)
		}
	}
	text := strings.Join(script, "") + `[ "$seq" -le "$n" ] && grep -q "^$hash {\"seq\":$((10#$seq))," ????????.seg && echo "good $n"` + "\n"

	j := newJournal(t, Options{Segment: minSegment})
	p := add(t, j, 15)
	settle(t, j, p)
	run := func() (string, error) {
		cmd := exec.CommandContext(t.Context(), "bash", "-c", text)
		cmd.Dir = j.dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run()
	if lines := strings.Split(strings.TrimSpace(out), "\n"); err != nil || len(lines) != int(p)+1 || lines[p] != fmt.Sprint("good ", p) {
		t.Fatalf("%d rows, %v:\n%s\n%s", p, err, out, text)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err = run(); err != nil || !strings.HasSuffix(out, fmt.Sprintf("good %d\n", p+1)) {
		t.Fatalf("closed: %v:\n%s", err, out)
	}
	edit(t, filepath.Join(j.dir, segmentName(2)), func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
	if out, err = run(); err == nil || !strings.Contains(out, "bad row ") {
		t.Errorf("a flipped bit: %v:\n%s", err, out)
	}
}
