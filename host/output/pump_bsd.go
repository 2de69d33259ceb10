//go:build unix && !linux

package output

const canSplice = false

// available reads: then it is known that there is something.
func (p *pipe) available() (int, error) {
	err := p.read(pumpBuffer)
	return len(p.held), err
}

// fullness does nothing: these systems size their pipes themselves.
func (p *pipe) fullness() {}

// nap does nothing.
func (p *pipe) nap() {}

// stage does nothing: it is for splice.
func (p *pipe) stage(int) error { return nil }
