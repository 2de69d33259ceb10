// Package output keeps what a command prints: one bounded log a session, addressed by offset.
//
// It owns the spool files, their index, the quota and the counts. It does not own the pipes, the processes or the
// meaning of the bytes: text, colours and code pages are others' work.
//
// # Invariants
//
//   - One writer appends; it never waits for a reader. Readers pull by offset and never change anything.
//   - An offset names the same byte for ever. A byte is kept, or it is in a counted gap; no third state.
//   - A gap is published before its bytes are given up, and a reader looks for new gaps after each read. So what a
//     reader returns was never half overwritten.
//   - Nothing touches the disk before the first byte.
//
// # On disk
//
// <id>.log holds the bytes, each at its own offset. Over quota the middle is punched out of the file; the first
// quarter of the quota and the newest rest stay. In a flood, and where the file system cannot punch, the part after the
// first quarter becomes a ring instead; the header of the index says where it lies, and before each write into it, where
// the log ends.
//
// <id>.idx says who wrote what and when: a header, then a record {offset, time, stream} for the run of bytes that
// begins there, written before its bytes are. A session whose output is all standard output and came within 50 ms has
// no index: its only record would be {0, birth of the spool, stdout}. See [readIndex] for the format.
//
// Both files together stay within the quota, but for a header and the few blocks that lie half in a gap or at an end.
// The index alone stays within an eighth of the quota: when streams alternate so fast that it would not, the middle
// goes earlier.
package output
