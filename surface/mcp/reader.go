package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/sallyport-sh/sallyport/surface/internal/jsonobj"
)

// maxBatch bounds a batch: each of its elements may cost an answer.
const maxBatch = 1000

// read takes lines until input ends.
func (c *conn) read(in io.Reader) {
	defer close(c.eof)
	r := bufio.NewReaderSize(in, 64<<10)
	var line []byte
	var long *idFinder // of a line that is too long
	size := 0
	for {
		part, err := r.ReadSlice('\n')
		size += len(part)
		switch {
		case long != nil:
			long.write(part)
		case size > c.server.o.MaxMessage:
			long = &idFinder{}
			long.write(line)
			long.write(part)
			line = nil
		default:
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if long != nil {
			c.refuse(refuse(long.id(), jsonrpc.CodeInvalidRequest, "the message has %d bytes; at most %d are taken", size, c.server.o.MaxMessage))
		} else {
			c.line(line)
		}
		if err != nil {
			return
		}
		line, long, size = nil, nil, 0
	}
}

// line takes one line. It owns data.
func (c *conn) line(data []byte) {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	switch {
	case len(data) == 0:
		return
	case !utf8.Valid(data):
		c.refuse(refuse(nil, jsonrpc.CodeParseError, "the message is not UTF-8"))
		return
	case !json.Valid(data):
		c.refuse(refuse(nil, jsonrpc.CodeParseError, "the message is not JSON"))
		return
	case data[0] != '[':
		c.take(data, nil)
		return
	}
	all := jsonobj.Elements(data)
	if len(all) == 0 || len(all) > maxBatch {
		c.refuse(refuse(nil, jsonrpc.CodeInvalidRequest, "a batch holds 1 to %d messages", maxBatch))
		return
	}
	b := &batch{open: 1}
	for _, one := range all {
		c.take(one, b)
	}
	if line := b.end(); line != nil {
		c.out.put(line)
	}
}

// An idFinder finds the id of a message that is too long to be kept, so that its refusal reaches who waits for it. It
// takes the message in pieces and keeps no more than a name and a value. What it finds is echoed, and not believed.
type idFinder struct {
	depth  int
	inside bool // in a string
	escape bool
	key    bool // at depth 1, a name comes next
	name   []byte
	value  []byte
	taking bool // value is that of "id"
}

// maxID is the longest id that is looked for.
const maxID = 256

func (f *idFinder) write(data []byte) {
	for _, b := range data {
		f.byte(b)
	}
}

func (f *idFinder) byte(b byte) {
	if f.inside {
		f.inString(b)
		return
	}
	switch b {
	case '"':
		f.inside = true
		if f.depth == 1 && f.key {
			f.name = f.name[:0]
		}
	case '{', '[':
		f.depth++
		f.key = f.depth == 1
		return
	case '}', ']':
		f.depth--
		f.taking = f.taking && f.depth > 0
		return
	case ',':
		if f.depth == 1 {
			f.key, f.taking = true, false
			return
		}
	case ':':
		if f.depth == 1 {
			f.key, f.taking = false, string(f.name) == "id"
			if f.taking {
				f.value = f.value[:0]
			}
			return
		}
	}
	f.keep(b)
}

func (f *idFinder) inString(b byte) {
	f.keep(b)
	switch {
	case f.escape:
		f.escape = false
	case b == '\\':
		f.escape = true
	case b == '"':
		f.inside = false
		return
	}
	if f.depth == 1 && f.key && len(f.name) < maxID {
		f.name = append(f.name, b)
	}
}

func (f *idFinder) keep(b byte) {
	if f.taking && f.depth == 1 && len(f.value) <= maxID {
		f.value = append(f.value, b)
	}
}

// id is the id, or nil if there is none that can be sent back.
func (f *idFinder) id() json.RawMessage {
	v := bytes.TrimSpace(f.value)
	if len(v) == 0 || len(v) > maxID || !utf8.Valid(v) || !json.Valid(v) {
		return nil
	}
	if _, bad := identify(v); bad != nil {
		return nil
	}
	return v
}
