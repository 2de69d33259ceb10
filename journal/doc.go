// Package journal keeps the record of what was asked and what was done: append-only, pre-written, hash-chained
// segments, and their verification and reading. The segments are the truth; any index is made from them. What goes
// into a row, and that it holds no secret, is the callers' business.
//
// # Files
//
// Each writing process makes a chain of its own, a directory of mode 0700 named by its start in UTC and a random part
// (20261130T194907.123Z-k3f5x2ab), so that several may share a state directory. In it are
//
//	00000001.seg, 00000002.seg …   rows, oldest first; after them zeros, as room for more
//	HEAD                           "sallyport-journal 1 SEQ HASH\n", SEQ in 20 digits: the last row known to be on disk
//	00000002.seg.new               a segment that is being written anew (see Faults); no part of the record
//
// The writer holds a lock on HEAD while it lives.
//
// # Rows
//
// A row is one line of printable text:
//
//	HASH {"seq":7,"kind":"run","at":"2026-11-30T19:49:07.5Z","request":…,"session":…,"caller":{…},"data":…}
//
// HASH is the SHA-256, as 64 lower-case hexadecimal digits, of the previous row's HASH, one space and this row's JSON
// (64 zeros stand for the row before the first). seq counts the rows of the chain from 1 without a gap. Absent fields
// are left out. Characters that are not printable are written as \uXXXX, what is not UTF-8 as \ufffd. A row has at
// most 256 KiB.
//
// The first row of each segment names it: kind "open" in the first one, "link" in the others, with data
// {"format":1,"chain":ID,"segment":NUMBER,"previous":HASH of the row before}; "open" adds the program's version, its
// pid, and "beforeStart" if runs wait for the disk before they start. The last row of a chain that was closed in order
// has kind "close". So, in the directory of a chain:
//
//	cat ????????.seg | tr -d '\0' | cut -c66- | jq -c .                  # to read
//	before=$(printf '%064d' 0); n=0                                      # to verify
//	while read -r hash json; do
//	  n=$((n + 1)); sum=$(printf '%s %s' "$before" "$json" | sha256sum)
//	  [ "${sum%% *}" = "$hash" ] && [ "$(jq .seq <<<"$json")" = "$n" ] || { echo "bad row $n"; exit 1; }
//	  before=$hash
//	done < <(cat ????????.seg | tr -d '\0')
//	read -r _ _ seq hash <HEAD   # seq is at most n, and the row with this seq begins with this hash
//
// [Verify] does the same and is stricter about what lies between rows.
//
// # What verification finds
//
// Any byte of a row that was flipped, cut, inserted or swapped; rows that were deleted or exchanged; segments that
// were deleted, renamed, copied or exchanged, also between chains; anything but zeros in the room after the last row;
// anything at all after the last row of a finished segment or a closed chain; unknown files; and, by HEAD, rows that
// were cut from the end, whole segments too. HEAD is written after each sync and before the sync is acknowledged, so
// it is never ahead of the disk and never behind what [Journal.Sync] has promised.
//
// What it does not find: a whole chain that was removed or put back to an older state; whole rows cut from the end
// after HEAD, which no Sync had acknowledged (after a power cut HEAD itself may be half a minute old, as only its
// first and its last state are synced); zeros added to or taken from the room at the end of a chain that was not
// closed, or after HEAD, which are no part of the record. And whoever may write the files may make new ones that
// verify: against its own uid the chain is advisory.
//
// A power cut can leave a torn row after HEAD. That cannot be told from a change by somebody, so it is reported, as
// "torn or changed after the last synced row": everything up to HEAD must verify; after HEAD rows that verify are
// accepted, and the first thing that neither verifies nor is zero makes the chain bad. For a chain whose writer is
// alive, which may be in the middle of a row, the file is read again before it is judged.
//
// # Durability
//
// [Journal.Append] returns when the row is in the page cache: it survives the death of every process, but not of the
// machine. One goroutine, the committer, syncs as soon as somebody waits for it ([Journal.Sync]), and takes what was
// appended during a sync into the next one: no delay to collect. A row that nobody waits for is synced with the next that
// somebody does, or after 10 ms. Segments are written with zeros ahead of their
// rows, off the callers' path, so that a sync has data to write and no metadata.
//
// # Faults
//
// An event that cannot be written is not recorded, takes no position and leaves nothing behind; the next Append tries
// anew. Part of the pre-written room is kept for ends and signals, so that they can be recorded on a full disk too.
// After a failed sync the kernel may have dropped what was not on disk and report success the next time, so no later
// sync of that file is believed: the segment is written again as a new file from what was known to be on disk and the
// rows kept in memory since, verified, synced and renamed over the old one. Until that has worked, nothing is
// acknowledged and nothing is appended.
package journal
