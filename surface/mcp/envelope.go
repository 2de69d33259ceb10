package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-sh/sallyport/surface/internal/jsonobj"
)

// An envelope is a JSON-RPC message of which only the outermost members were looked at.
type envelope struct {
	id     json.RawMessage // as it was sent; nil if there is none
	key    jsonrpc.ID      // the same, comparable
	method string
	call   bool // it has a method
	params json.RawMessage
	result json.RawMessage
	fault  json.RawMessage // its "error"
}

// A refusal is why a message was not taken, for the client.
type refusal struct {
	id   json.RawMessage // nil: not known
	code int64
	msg  string
}

func refuse(id json.RawMessage, code int64, format string, args ...any) *refusal {
	return &refusal{id, code, fmt.Sprintf(format, args...)}
}

// members are the members of an envelope.
var members = []string{"jsonrpc", "id", "method", "params", "result", "error"}

// open takes a message apart. data is valid JSON.
func open(data []byte) (envelope, *refusal) {
	var e envelope
	all, err := jsonobj.Split(data)
	if err != nil {
		return e, refuse(nil, jsonrpc.CodeInvalidRequest, "a message must be an object: %v", err)
	}
	version := ""
	if twice, wrong := spelling(all, members); twice != "" || wrong != "" {
		if twice != "" {
			return e, refuse(nil, jsonrpc.CodeInvalidRequest, "the message has %q twice", twice)
		}
		return e, refuse(nil, jsonrpc.CodeInvalidRequest, "the message has %q: names of members are in lower case", wrong)
	}
	for _, m := range all {
		switch m.Name {
		case "jsonrpc":
			version, _ = jsonobj.String(m.Value)
		case "id":
			e.id = m.Value
		case "method":
			e.call = true
			e.method, err = jsonobj.String(m.Value)
		case "params":
			e.params = m.Value
		case "result":
			e.result = m.Value
		case "error":
			e.fault = m.Value
		}
	}
	var bad *refusal
	if e.id != nil {
		e.key, bad = identify(e.id)
	}
	switch {
	case bad != nil:
		return e, bad
	case version != "2.0":
		return e, refuse(e.id, jsonrpc.CodeInvalidRequest, `"jsonrpc" must be "2.0"`)
	case err != nil || e.call && e.method == "":
		return e, refuse(e.id, jsonrpc.CodeInvalidRequest, `"method" must be a string`)
	case !e.call && e.result == nil && e.fault == nil:
		return e, refuse(e.id, jsonrpc.CodeInvalidRequest, "the message is neither a request nor a response")
	}
	return e, nil
}

// identify turns an id into a key. The SDK keeps ids as int64 or string; what it would change is refused, so that no
// answer goes to another request.
func identify(id json.RawMessage) (jsonrpc.ID, *refusal) {
	if id[0] == '"' {
		s, err := jsonobj.String(id)
		if err != nil {
			return jsonrpc.ID{}, refuse(nil, jsonrpc.CodeInvalidRequest, `"id": %v`, err)
		}
		key, _ := jsonrpc.MakeID(s) // strings are ids
		return key, nil
	}
	n, err := strconv.ParseFloat(string(id), 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) > 1<<53 {
		return jsonrpc.ID{}, refuse(nil, jsonrpc.CodeInvalidRequest, `"id" must be a string or a whole number`)
	}
	key, _ := jsonrpc.MakeID(n) // numbers are ids
	return key, nil
}

// spelling finds a member that is there twice, and one that is only right in another case.
func spelling(all []jsonobj.Member, right []string) (twice, wrong string) {
	for i, m := range all {
		for _, other := range all[:i] {
			if other.Name == m.Name {
				return m.Name, ""
			}
		}
		for _, r := range right {
			if m.Name != r && strings.EqualFold(m.Name, r) {
				return "", m.Name
			}
		}
	}
	return "", ""
}

// firstModern is the protocol version that has no sessions, and every request says its version.
const firstModern = "2026-07-28"

// modern reports whether a message belongs to the era without sessions.
func (e *envelope) modern() bool {
	switch e.method {
	case "server/discover", "subscriptions/listen":
		return true
	}
	return e.meta(sdk.MetaKeyProtocolVersion) >= firstModern
}

// meta is a string in the _meta of the params.
func (e *envelope) meta(name string) string {
	if !bytes.Contains(e.params, []byte("_meta")) { // most messages are done here
		return ""
	}
	return find(find(e.params, "_meta"), name).text()
}

// raw is a JSON value.
type raw json.RawMessage

func find[T ~[]byte](object T, name string) raw {
	all, err := jsonobj.Split(nonEmpty(object))
	if err != nil {
		return nil
	}
	for _, m := range all {
		if m.Name == name {
			return raw(m.Value)
		}
	}
	return nil
}

func nonEmpty[T ~[]byte](b T) []byte {
	if len(b) == 0 {
		return []byte("null")
	}
	return b
}

func (r raw) text() string {
	s, err := jsonobj.String(r)
	if err != nil {
		return ""
	}
	return s
}

// callMembers are the members of the params of a call.
var callMembers = []string{"name", "arguments", "_meta", "inputResponses", "requestState"}

// checkCall refuses a tool call that two readers could read differently.
func (e *envelope) checkCall() *refusal {
	all, err := jsonobj.Split(nonEmpty(e.params))
	if err != nil {
		return refuse(e.id, jsonrpc.CodeInvalidParams, "params of tools/call must be an object")
	}
	switch twice, wrong := spelling(all, callMembers); {
	case twice != "":
		return refuse(e.id, jsonrpc.CodeInvalidParams, "params have %q twice", twice)
	case wrong != "":
		return refuse(e.id, jsonrpc.CodeInvalidParams, "params have %q: names of members are in lower case", wrong)
	}
	return nil
}
