//go:build unix

package testenv

// exeSuffix is what a program's name ends in.
const exeSuffix = ""
