// Package harness starts the real program as an MCP client would and speaks the protocol to it line by line, so that
// the tests above it can be read as stories: start a server, call a tool, look at what came back and at what is left.
//
// It is a client of its own, not the SDK's: it sees every byte that the server prints, fails the test on a line that is
// no JSON-RPC, and can send what no well-behaved client would. It knows nothing of the server's packages.
package harness
