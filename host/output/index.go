package output

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/sallyport-sh/sallyport"
)

// The index file, version 1. All numbers are little-endian.
//
//	header, 512 bytes:  "spoolidx", version uint32, record size uint32, the fields of [header] as int64 in their
//	                    order, zeros, CRC-32C of the 508 bytes before
//	records, 24 bytes:  offset int64, unix nanoseconds int64, stream uint8, three zeros, CRC-32C of the 20 before
//
// Record i lies at 512 + 24·i, or where header.Records puts i. Offsets never fall from record to record. A record at or
// behind the end of the spool announces bytes that never came.
const (
	indexMagic   = "spoolidx"
	indexVersion = 1
	headerSize   = 512
	recordSize   = 24
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A record says that from off on, stream wrote, at that time. It holds up to the next record.
type record struct {
	off    int64
	at     int64 // unix nanoseconds
	stream sallyport.Stream
}

func (r record) append(b []byte) []byte {
	n := len(b)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.off))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.at))
	b = append(b, byte(r.stream), 0, 0, 0)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[n:], castagnoli))
}

var (
	errRecord = errors.New("damaged index record")
	errHeader = errors.New("damaged index header")
)

func parseRecord(b []byte) (record, error) {
	if len(b) < recordSize || crc32.Checksum(b[:recordSize-4], castagnoli) != binary.LittleEndian.Uint32(b[recordSize-4:]) {
		return record{}, errRecord
	}
	r := record{
		off:    int64(binary.LittleEndian.Uint64(b)),
		at:     int64(binary.LittleEndian.Uint64(b[8:])),
		stream: sallyport.Stream(b[16]),
	}
	if r.off < 0 || r.stream != sallyport.Stdout && r.stream != sallyport.Stderr {
		return record{}, errRecord
	}
	return r, nil
}

// A header says which part of the log and of the index itself is gone, and where the rest lies.
type header struct {
	quota    int64
	spool    ring  // where offsets lie in the spool file
	records  ring  // where record numbers lie in the index file
	recsFrom int64 // records recsFrom…recsTo-1 went with the middle
	recsTo   int64
	lostFrom int64 // bytes from here on could not be written; -1: none
	// In a ring the file does not tell where the log ends. It ends at moveFrom, or as many bytes later as were written
	// of the moveLen that were about to be when this was.
	moveFrom, moveLen int64
	gap               gap // the middle; from and to at 0: none
}

func (h *header) fields() []*int64 {
	f := []*int64{
		&h.quota, &h.spool.base, &h.spool.size, &h.records.base, &h.records.size, &h.recsFrom, &h.recsTo, &h.lostFrom,
		&h.moveFrom, &h.moveLen,
	}
	for _, p := range []*place{&h.gap.from, &h.gap.to} {
		f = append(f, &p.off)
		for sel := range p.bytes {
			f = append(f, &p.bytes[sel], &p.nl[sel], &p.open[sel], &p.line[sel])
		}
	}
	for sel := range h.gap.first {
		f = append(f, &h.gap.first[sel])
	}
	return f
}

func (h *header) encode() []byte {
	b := make([]byte, 0, headerSize)
	b = append(b, indexMagic...)
	b = binary.LittleEndian.AppendUint32(b, indexVersion)
	b = binary.LittleEndian.AppendUint32(b, recordSize)
	for _, f := range h.fields() {
		b = binary.LittleEndian.AppendUint64(b, uint64(*f))
	}
	b = append(b, make([]byte, headerSize-4-len(b))...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func parseHeader(b []byte) (header, error) {
	var h header
	if len(b) < headerSize || string(b[:8]) != indexMagic {
		return h, errHeader
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != indexVersion {
		return h, fmt.Errorf("index version %d, want %d", v, indexVersion)
	}
	if crc32.Checksum(b[:headerSize-4], castagnoli) != binary.LittleEndian.Uint32(b[headerSize-4:]) ||
		binary.LittleEndian.Uint32(b[12:]) != recordSize {
		return h, errHeader
	}
	for i, f := range h.fields() {
		*f = int64(binary.LittleEndian.Uint64(b[16+8*i:]))
		if *f < 0 && f != &h.lostFrom {
			return h, errHeader
		}
	}
	if h.gap.to.off < h.gap.from.off || h.recsTo < h.recsFrom || h.lostFrom < -1 {
		return h, errHeader
	}
	return h, nil
}

// readIndex reads an index file of size bytes, as a process finds it that did not write it. It returns the records
// that are there, in order, and stops without error at the first that is not: a crash may have cut the last one.
func readIndex(r io.ReaderAt, size int64) (header, []record, error) {
	b := make([]byte, headerSize)
	if _, err := r.ReadAt(b, 0); err != nil {
		return header{}, nil, fmt.Errorf("read index header: %w", err)
	}
	h, err := parseHeader(b)
	if err != nil {
		return h, nil, err
	}
	var recs []record
	last := int64(-1)
	room := max(size-headerSize, 0) / recordSize
	for n := int64(0); int64(len(recs)) < room; n++ {
		if n == h.recsFrom {
			n = h.recsTo
		}
		at, _ := h.records.at(n)
		if at >= room {
			break
		}
		if _, err := r.ReadAt(b[:recordSize], headerSize+at*recordSize); err != nil {
			break
		}
		rec, err := parseRecord(b)
		if err != nil || rec.off < last {
			break
		}
		recs, last = append(recs, rec), rec.off
	}
	return h, recs, nil
}

// A run is a stretch of the log that one stream wrote, from off up to the next run.
type run struct {
	off    int64
	stream sallyport.Stream
}

// runs appends to dst the runs that cover n bytes from off on; the first may begin before off. The bytes must be kept.
// It returns errMoved if the middle went on while it read.
func (l *Log) runs(dst []run, v *view, off, n int64) ([]run, error) {
	if v.only != sallyport.AnyStream {
		return append(dst, run{off, v.only}), nil
	}
	dst, err := l.readRuns(dst, v, off, n)
	if l.moved(v) {
		return nil, errMoved // it may have read what is no record any more
	}
	return dst, err
}

func (l *Log) readRuns(dst []run, v *view, off, n int64) ([]run, error) {
	i, err := l.recordBefore(v, off)
	if err != nil {
		return nil, err
	}
	var block [170 * recordSize]byte // about a page
	for i < v.recs {
		m := min(int64(len(block)/recordSize), v.recs-i)
		if i < v.recsFrom {
			m = min(m, v.recsFrom-i)
		}
		m, err := l.readRecords(block[:m*recordSize], v, i)
		if err != nil {
			return nil, err
		}
		for b := block[:m*recordSize]; len(b) > 0; b = b[recordSize:] {
			r, err := parseRecord(b)
			switch {
			case err != nil:
				return nil, err
			case r.off >= off+n:
				return dst, nil
			case len(dst) == 0 || dst[len(dst)-1].stream != r.stream:
				dst = append(dst, run{r.off, r.stream})
			}
		}
		if i += m; i == v.recsFrom {
			i = v.recsTo // only reached when the caller's bytes end at the gap: the records beyond it are behind them
		}
	}
	return dst, nil
}

// recordBefore returns the number of the last kept record at or before off.
func (l *Log) recordBefore(v *view, off int64) (int64, error) {
	lo, hi := int64(0), v.recs
	if v.recsFrom < v.recsTo {
		if off < v.gap.from.off {
			hi = v.recsFrom
		} else {
			lo = v.recsTo
		}
	}
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		r, err := l.recordAt(v, mid)
		if err != nil {
			return 0, err
		}
		if r.off <= off {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, nil
}

func (l *Log) recordAt(v *view, i int64) (record, error) {
	if i == 0 && !v.indexed {
		return v.b.first, nil
	}
	var b [recordSize]byte
	if _, err := l.readRecords(b[:], v, i); err != nil {
		return record{}, err
	}
	return parseRecord(b[:])
}

// readRecords fills b with records from number i on and returns how many lay side by side.
func (l *Log) readRecords(b []byte, v *view, i int64) (int64, error) {
	f, err := l.store.acquire(&v.b.idx, false)
	if err != nil {
		return 0, err
	}
	defer l.store.release(&v.b.idx)
	at, n := v.records.at(i)
	n = min(n, int64(len(b)/recordSize))
	if _, err := f.ReadAt(b[:n*recordSize], headerSize+at*recordSize); err != nil {
		return 0, fmt.Errorf("read index: %w", err)
	}
	return n, nil
}

// due says whether bytes of s that come now need a record of their own.
func (w *writer) due(s sallyport.Stream, now time.Time, quota int64) bool {
	return w.recs == 0 || s != w.stream || now.Sub(w.recorded) >= interval(w.recs, quota)
}

// interval is the time between records of one stream: 50 ms; from 65,536 records on (or a quarter of what the quota
// allows, if that is less) 1 s, and twice as long with each further quarter of that number. At the default quota the
// 349,525 records allowed would last for five hours at 50 ms; so they last longer than any program.
func interval(recs, quota int64) time.Duration {
	many := min(maxRecords(quota)/4, 1<<16)
	if recs < many {
		return 50 * time.Millisecond
	}
	return time.Second << min((recs-many)/max(many/4, 1), 24)
}

// maxRecords is how many records are kept: the index takes an eighth of the quota at most.
func maxRecords(quota int64) int64 { return quota / 8 / recordSize }

// record writes a record for n bytes that are about to be written at the end, if one is due, and says whether it did.
// The record counts once the bytes are there; if none come, the next one takes its place.
func (l *Log) record(b *body, s sallyport.Stream, now time.Time) (bool, error) {
	w := &b.w
	if !w.due(s, now, l.quota) {
		return false, nil
	}
	r := record{off: l.end, at: now.UnixNano(), stream: s}
	if w.recs == 0 {
		b.first = r
		if s == sallyport.Stdout && !w.indexed {
			return true, nil // the record that goes without saying: see the package comment
		}
	}
	if !w.indexed {
		if err := l.index(b); err != nil || w.recs == 0 {
			return true, err
		}
	}
	return true, l.writeRecord(b, r)
}

// index makes the index file, with its header and the first record.
func (l *Log) index(b *body) error {
	if err := l.writeIndex(b, b.first.append(l.header(b).encode()), 0); err != nil {
		return err
	}
	b.w.indexed = true
	return nil
}

func (l *Log) writeRecord(b *body, r record) error {
	at, _ := b.records.at(b.w.recs)
	return l.writeIndex(b, r.append(make([]byte, 0, recordSize)), headerSize+at*recordSize)
}

func (l *Log) writeIndex(b *body, p []byte, at int64) error {
	f, err := l.store.acquire(&b.idx, true)
	if err != nil {
		return fmt.Errorf("open index: %w", err)
	}
	defer l.store.release(&b.idx)
	if _, err := f.WriteAt(p, at); err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	return nil
}

// header describes the log as it is now. The writer calls it.
func (l *Log) header(b *body) *header {
	h := &header{
		quota: l.quota, spool: b.spool, records: b.records, recsFrom: b.recsFrom, recsTo: b.recsTo, lostFrom: -1,
	}
	if b.gap != nil {
		h.gap = *b.gap
	}
	if b.spool.size > 0 {
		h.moveFrom, h.moveLen = l.end, b.w.moving
	}
	if b.lost != nil {
		h.lostFrom = b.lost.from.off
	}
	return h
}

var newline = []byte{'\n'}
