// Package cli is the command line: one file a command, over the application and its configuration.
//
// It owns words and manners, no behaviour. What a command prints on standard output is its answer, and nothing else is
// there; everything said about it is on standard error, errors as a line "error: …" that may be followed by "hint: …".
// What prints data takes -o json. Nothing ever prompts, pages, or depends on a terminal or on colour.
//
// A process runs one command by [Main]. There is no state besides its [Env].
package cli
