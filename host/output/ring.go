package output

import "math"

// A ring maps the positions of an endless sequence onto a bounded stretch: those from base on share size places, those
// before base keep their own. The zero ring is the identity.
//
// It begins when a file turns out not to be punchable, with base + size at the end of what is there: up to then every
// position is where the identity puts it, so nothing has to move.
type ring struct{ base, size int64 }

// at returns where position p lies, and how many positions from there on lie side by side.
func (r ring) at(p int64) (pos, run int64) {
	switch {
	case r.size == 0:
		return p, math.MaxInt64 - p
	case p < r.base:
		return p, r.base - p
	}
	d := (p - r.base) % r.size
	return r.base + d, r.size - d
}
