package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/sallyport-sh/sallyport/surface/text"
)

// The limits of what waits for a client that reads slowly. Over the first, what can be left out is; over the second
// the client counts as gone, since nothing that it asked for would ever reach it.
const (
	maxChatter = 1 << 20
	maxQueued  = 256 << 20
)

// An outlet writes messages in the order that they were put in, one at a time. Putting never waits for the reader. The
// goroutine that writes ends when the queue is empty or w fails; flush waits for it.
type outlet struct {
	w      io.Writer
	broken chan struct{} // closed when w fails

	mu      sync.Mutex
	queue   [][]byte
	size    int
	writing bool
	failed  error
	quiet   chan struct{} // closed when nobody writes, if somebody waits for it
}

var errSlow = errors.New("the client does not read")

// put queues a message and lets it be written. It reports whether the client is still there.
func (o *outlet) put(msg []byte) bool {
	mine, there := o.add(msg)
	if mine {
		go o.drain()
	}
	return there
}

// add queues a message. mine says that nobody writes: the caller sees to it that drain is called.
func (o *outlet) add(msg []byte) (mine, there bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed == nil && o.size+len(msg) > maxQueued {
		o.fail(errSlow)
	}
	if o.failed != nil {
		return false, false
	}
	o.queue = append(o.queue, msg)
	o.size += len(msg)
	mine = !o.writing
	o.writing = true
	return mine, true
}

// chat queues a message that may be left out if the client does not keep up.
func (o *outlet) chat(msg []byte) bool {
	o.mu.Lock()
	full := o.size > maxChatter
	o.mu.Unlock()
	return full || o.put(msg)
}

// drain writes until the queue is empty. There is one at a time.
func (o *outlet) drain() {
	for {
		o.mu.Lock()
		if len(o.queue) == 0 || o.failed != nil {
			o.writing = false
			if o.quiet != nil {
				close(o.quiet)
				o.quiet = nil
			}
			o.mu.Unlock()
			return
		}
		msg := o.queue[0]
		o.queue = o.queue[1:]
		o.mu.Unlock()
		_, err := o.w.Write(msg)
		o.mu.Lock()
		o.size -= len(msg)
		if err != nil && o.failed == nil {
			o.fail(err)
		}
		o.mu.Unlock()
	}
}

// fail gives the client up. mu is held.
func (o *outlet) fail(err error) {
	o.failed = err
	o.queue = nil
	close(o.broken)
}

// close lets nothing more be written.
func (o *outlet) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed == nil {
		o.fail(io.ErrClosedPipe)
	}
}

func (o *outlet) err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed
}

// flush waits until everything is written, for so long at most, and reports whether it is.
func (o *outlet) flush(most time.Duration) bool {
	o.mu.Lock()
	if !o.writing {
		o.mu.Unlock()
		return true
	}
	if o.quiet == nil {
		o.quiet = make(chan struct{})
	}
	quiet := o.quiet
	o.mu.Unlock()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-quiet:
		return true
	case <-timer.C:
		return false
	}
}

// A batch collects the answers to the messages of one array.
type batch struct {
	mu      sync.Mutex
	answers [][]byte
	open    int // calls without an answer, and 1 while messages are taken
}

// begin says that an answer will come.
func (b *batch) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open++
}

// add adds an answer.
func (b *batch) add(answer []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers = append(b.answers, bytes.TrimSuffix(answer, []byte("\n")))
}

// end ends what begin began, or the taking. After the last it returns the line that answers all, if there is one.
func (b *batch) end() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open--; b.open > 0 || len(b.answers) == 0 {
		return nil
	}
	line := append([]byte{'['}, bytes.Join(b.answers, []byte{','})...)
	return append(line, "]\n"...)
}

// maxMessageText bounds the text of an error: the SDK quotes what it could not read, whatever its size.
const maxMessageText = 500

// answer is the line that answers a request.
func answer(id json.RawMessage, r *jsonrpc.Response) []byte {
	if r.Error != nil {
		e := jsonrpc.Error{Code: jsonrpc.CodeInternalError}
		if wire, ok := errors.AsType[*jsonrpc.Error](r.Error); ok {
			e = *wire
		}
		if e.Code == 0 {
			e.Code = jsonrpc.CodeInvalidRequest
		}
		e.Message = text.Label(r.Error.Error(), maxMessageText)
		return faultLine(id, e)
	}
	b := make([]byte, 0, len(r.Result)+len(id)+40)
	b = append(append(b, `{"jsonrpc":"2.0","id":`...), id...)
	b = append(append(b, `,"result":`...), r.Result...)
	return append(b, "}\n"...)
}

// line is the line that answers a message that was not taken.
func (r *refusal) line() []byte {
	return faultLine(r.id, jsonrpc.Error{Code: r.code, Message: text.Label(r.msg, maxMessageText)})
}

func faultLine(id json.RawMessage, e jsonrpc.Error) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	fault, err := json.Marshal(e)
	if err != nil { // its data is no JSON
		e.Data = nil
		fault, _ = json.Marshal(e) // a code and a text
	}
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(append(b, `,"error":`...), fault...)
	return append(b, "}\n"...)
}
