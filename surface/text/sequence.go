package text

import "unicode/utf8"

// The limits of a terminal sequence. Real control sequences are shorter than 100 bytes; titles and hyperlinks fit into
// maxString, and what is longer is more likely text behind a sequence that was never ended.
const (
	maxControl = 256
	maxString  = 4096
)

// The bytes that make up terminal sequences (ECMA-48).
const (
	bel = 0x07
	can = 0x18
	sub = 0x1a
	esc = 0x1b
)

// A state is where a sequence is.
type state uint8

const (
	ground       state = iota
	escape             // after ESC
	intermediate       // after ESC and bytes 0x20…0x2f
	control            // CSI: after ESC [
	command            // OSC: after ESC ], ended by BEL or ST
	device             // DCS, SOS, PM, APC: ended by ST
	terminator         // in command or device, after ESC
)

// A step is what one byte does to a sequence.
type step uint8

const (
	more    step = iota // the byte belongs to the sequence
	done                // the byte ends the sequence
	aborted             // this is no sequence: what was collected is text, and the byte is looked at again
)

// A parser follows one sequence from its ESC. The zero value is outside any.
type parser struct {
	state state
	size  int
}

// start begins a sequence with an ESC.
func (p *parser) start() { p.state, p.size = escape, 1 }

// next takes the byte b that follows. After done the parser is outside any sequence; after aborted, too, unless it was
// an ESC that ended a string: that one begins another sequence.
func (p *parser) next(b byte) step {
	p.size++
	was := p.state
	s := p.advance(b)
	limit := maxControl
	if p.state >= command {
		limit = maxString
	}
	if s == more && p.size > limit && utf8.RuneStart(b) {
		s = aborted
	}
	switch {
	case s == aborted && was == terminator:
		p.start()
	case s != more:
		p.state = ground
	}
	return s
}

func (p *parser) advance(b byte) step {
	switch p.state {
	case escape:
		return p.afterEscape(b)
	case intermediate:
		switch {
		case b >= 0x20 && b <= 0x2f:
			return more
		case b >= 0x30 && b <= 0x7e:
			return done
		}
		return aborted
	case control:
		switch {
		case b >= 0x20 && b <= 0x3f:
			return more
		case b >= 0x40 && b <= 0x7e:
			return done
		}
		return aborted
	case terminator:
		if b == '\\' {
			return done
		}
		return aborted
	default:
		return p.inString(b)
	}
}

func (p *parser) afterEscape(b byte) step {
	switch {
	case b == '[':
		p.state = control
	case b == ']':
		p.state = command
	case b == 'P' || b == 'X' || b == '^' || b == '_':
		p.state = device
	case b >= 0x20 && b <= 0x2f:
		p.state = intermediate
	case b >= 0x30 && b <= 0x7e:
		return done
	default:
		return aborted
	}
	return more
}

func (p *parser) inString(b byte) step {
	switch {
	case b == bel && p.state == command:
		return done
	case b == esc:
		p.state = terminator
	case b == can || b == sub || b == '\n':
		return aborted
	}
	return more
}

// Complete returns how much of b can be shown when more may follow: the length of b without a character or a terminal
// sequence that has begun at its end and is not complete.
func Complete(b []byte) int {
	end := len(b) - incompleteRune(b)
	open := 0
	var p parser
	for i := max(0, end-maxString-1); i < end; i++ {
		if p.state == ground {
			if b[i] == esc {
				p.start()
				open = i
			}
			continue
		}
		if p.next(b[i]) == aborted {
			open = i - 1 // of the sequence that an ESC began in its place, if one did
			i--          // looked at again
		}
	}
	if p.state != ground {
		return open
	}
	return end
}

// Resume returns the first position at or after at where b can be begun to be shown: not inside a character, nor inside
// a terminal sequence that begins in b.
func Resume(b []byte, at int) int {
	var p parser
	for i := 0; i < len(b); i++ {
		if p.state == ground {
			if i >= at {
				return skipContinuation(b, i)
			}
			if b[i] == esc {
				p.start()
			}
			continue
		}
		if p.next(b[i]) == aborted {
			if i >= at {
				break // it was no sequence
			}
			i-- // looked at again
		}
	}
	return skipContinuation(b, at)
}

// skipContinuation passes over the rest of a character whose beginning was cut off.
func skipContinuation(b []byte, at int) int {
	for n := 0; n < utf8.UTFMax-1 && at < len(b) && !utf8.RuneStart(b[at]); n++ {
		at++
	}
	return at
}
