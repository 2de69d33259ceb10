package journal

import (
	"fmt"
	"os"
	"path/filepath"
)

// headName is the file that says how far a chain is known to be on disk.
const headName = "HEAD"

// A mark is what HEAD says: the row with this seq has this hash and is on disk. The mark of a new chain is {0, genesis}.
type mark struct {
	seq  uint64
	hash string
}

// text is HEAD's content. It always has the same length and lies within one sector, so that a write replaces it whole.
func (m mark) text() []byte {
	return fmt.Appendf(nil, "sallyport-journal %d %020d %s\n", format, m.seq, m.hash)
}

// parseMark reads HEAD's content. Only exactly what text writes is accepted; there is no row 0 whose hash would tell that
// the number was changed to it.
func parseMark(b []byte) (mark, bool) {
	var f int
	m := mark{hash: genesis}
	if len(b) != len(m.text()) {
		return mark{}, false
	}
	if _, err := fmt.Sscanf(string(b), "sallyport-journal %d %d %s\n", &f, &m.seq, &m.hash); err != nil {
		return mark{}, false
	}
	return m, string(m.text()) == string(b) && (m.seq == 0) == (m.hash == genesis)
}

// readMark reads a chain's HEAD. An empty or absent one is no error.
func readMark(dir string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(dir, headName))
	if os.IsNotExist(err) {
		return nil, nil
	}
	return b, err
}

// alive reports whether the writer of the chain in dir lives. While HEAD is empty its writer has not locked it yet, and
// asking would be in its way.
func alive(dir string) bool {
	path := filepath.Join(dir, headName)
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0 && held(path)
}
