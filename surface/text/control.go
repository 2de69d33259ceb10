package text

import (
	"bytes"
	"strconv"
)

// maxColumn is how far a sequence may move the cursor beyond the end of a line. Terminals stop at their width.
const maxColumn = 1000

// control performs the control sequences that change what a line shows in the end: progress bars erase and move. All
// others (colours, modes, other lines of the screen) change nothing here.
func (c *Cleaner) control(seq []byte) {
	if len(seq) < 3 || seq[1] != '[' {
		return
	}
	final, arg := seq[len(seq)-1], seq[2:len(seq)-1]
	if !bytes.ContainsRune([]byte("KJGCD"), rune(final)) {
		return
	}
	n := 0
	if len(arg) > 0 {
		v, err := strconv.Atoi(string(arg))
		if err != nil || v < 0 {
			return // private or malformed
		}
		n = v
	}
	c.toCells()
	switch final {
	case 'K':
		c.erase(n)
	case 'J':
		if n == 0 { // below and to the right of the cursor
			c.erase(0)
		}
	case 'G':
		c.move(max(n, 1) - 1)
	case 'C':
		c.move(c.cursor + min(max(n, 1), maxColumn))
	case 'D':
		c.move(c.cursor - min(max(n, 1), c.cursor))
	}
}

// erase empties the line from the cursor on (0), up to it (1), or all of it (2).
func (c *Cleaner) erase(which int) {
	switch which {
	case 0:
		c.cells = c.cells[:min(c.cursor, len(c.cells))]
	case 1:
		for i := range min(c.cursor+1, len(c.cells)) {
			c.cells[i] = ' '
		}
	case 2:
		c.cells = c.cells[:0]
	}
}

func (c *Cleaner) move(column int) {
	c.cursor = min(column, max(len(c.cells), maxColumn))
}
