// Package e2e tries the released program as its users do: an MCP client starts it, runs commands, and looks at what
// came back and at what is left. The tests stand in files by story; the package itself is empty.
//
// Its judges are outside the program: the kernel's process table, real shells, the official clients of two languages,
// and a file of inputs that broke other tools.
package e2e
