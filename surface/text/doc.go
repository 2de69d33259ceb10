// Package text turns the bytes that programs print into text that a model or a person can read.
//
// It owns decoding (strict UTF-8; a code page can be put in its place by [Decoder]), the removal of terminal sequences,
// the resolution of rewritten lines, the visible form of control characters, and every cut of a text to a length: there
// is no other place that cuts text. It does not decide what to show or how much; package view does.
//
// Invariants: what comes out is valid UTF-8; no character is split, wherever the input is; nothing visible is swallowed
// by a sequence that does not end; everything works in one pass, with memory bounded by the longest line given to it.
package text
