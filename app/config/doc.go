// Package config owns the one configuration file: which keys exist, what they may hold, what they are when nobody says
// anything, where the file and the state live, and how a change comes into force while the program runs.
//
// The keys are the fields of [Settings]: name, default and range stand in the field's tags, the text of docs/config.md
// in its comment. A file becomes a [Snapshot], which never changes; a [Watcher] puts another one in its place. What a
// file says wrongly is listed in one [Error], each problem with its line.
//
// Invariants: a file that holds one mistake changes nothing (the snapshot before it stays in force); a key that exists
// but is not in force in this version can only be set to what it is anyway; no environment is read here.
package config

//go:generate go run ./gen comments
//go:generate go run ./gen markdown
