package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sallyport-sh/sallyport"
)

const (
	defaultOpen  = 256      // descriptors a store holds open; 5,000 sessions must fit into a limit of 20,000
	defaultQuota = 64 << 20 // bytes of a log
	minQuota     = 1 << 20
	maxID        = 128 // bytes; with the suffix well under the 255 of common file systems
)

// A Store is a directory of output logs. One process has one, and the directory belongs to it alone. It holds no more
// than a set number of descriptors open, whatever the number of logs. A Store is safe for concurrent use.
type Store struct {
	dir   string
	max   int
	disk  disk
	flood int64        // bytes a second from which on a log over its quota becomes a ring; 0: never
	grown atomic.Int32 // enlarged pipes; see maxGrown

	mu     sync.Mutex
	idle   sync.Cond       // a dead slot has lost its last user
	logs   map[string]*Log // by [key]
	lru    slot            // ring of open slots; lru.next is the one used last
	open   int
	closed bool
}

// A slot is a file of a log that may or may not be open at the moment. The store's mutex guards it.
type slot struct {
	log        *Log
	ext        string
	f          file
	users      int
	made, dead bool
	prev, next *slot
}

func (sl *slot) path() string { return filepath.Join(sl.log.store.dir, sl.log.id+sl.ext) }

// OpenStore makes dir (mode 0700) if need be and returns a store of it that keeps at most maxOpen descriptors open
// between uses (0: 256). It refuses a directory of another user.
func OpenStore(dir string, maxOpen int) (*Store, error) {
	return openStore(dir, maxOpen, osDisk{})
}

func openStore(dir string, maxOpen int, d disk) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make output directory: %w", err)
	}
	if err := private(dir); err != nil {
		return nil, fmt.Errorf("output directory %s: %w", dir, err)
	}
	if maxOpen <= 0 {
		maxOpen = defaultOpen
	}
	s := &Store{dir: dir, max: maxOpen, disk: d, flood: floodRate, logs: make(map[string]*Log)}
	s.idle.L = &s.mu
	s.lru.prev, s.lru.next = &s.lru, &s.lru
	return s, nil
}

// Create returns a new, empty log. id names it and its files: letters, digits, ".", "_" and "-", at most 128, not
// beginning with a dot. quota is how many bytes of it stay on disk, index included (0: 64 MiB; at least 1 MiB).
// Nothing is written before the first byte. Errors: [sallyport.Invalid]; [sallyport.Conflict] for an id in use;
// [sallyport.Closed].
func (s *Store) Create(id string, quota int64) (*Log, error) {
	if !validID(id) {
		return nil, &sallyport.Error{Code: sallyport.Invalid, Op: "output.Create", Msg: fmt.Sprintf("%q cannot name an output log", id)}
	}
	if quota <= 0 {
		quota = defaultQuota
	}
	return s.create(id, max(quota, minQuota))
}

func (s *Store) create(id string, quota int64) (*Log, error) {
	l := &Log{store: s, id: id, quota: quota}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed()
	}
	if s.logs[key(id)] != nil {
		return nil, &sallyport.Error{Code: sallyport.Conflict, Op: "output.Create", Msg: fmt.Sprintf("output log %q exists", id)}
	}
	s.logs[key(id)] = l
	return l, nil
}

// key makes ids equal that name the same file on a system that does not tell cases apart.
func key(id string) string { return strings.ToLower(id) }

func validID(id string) bool {
	if id == "" || len(id) > maxID || id[0] == '.' {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// Close waits for reads and writes in progress and closes every descriptor. The files stay; the logs answer
// [sallyport.Closed] from then on. A second Close does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	var files []file
	for s.lru.next != &s.lru {
		sl := s.lru.next
		if sl.users > 0 {
			s.idle.Wait()
			continue
		}
		files = append(files, s.detach(sl))
	}
	logs := make([]*Log, 0, len(s.logs))
	for _, l := range s.logs {
		logs = append(logs, l)
	}
	s.mu.Unlock()

	for _, l := range logs {
		l.finish(errClosed())
	}
	return closeAll(files)
}

func closeAll(files []file) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// acquire returns the slot's file, open until release. With create it may be made; only a log's writer asks for that.
func (s *Store) acquire(sl *slot, create bool) (file, error) {
	s.mu.Lock()
	if err := s.usable(sl); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	sl.users++ // before the file is opened, so that forget waits for us
	if sl.f != nil {
		s.front(sl)
		f := sl.f
		s.mu.Unlock()
		return f, nil
	}
	made := sl.made
	s.mu.Unlock()

	f, err := s.openFile(sl, made, create)
	if err != nil {
		s.release(sl)
		return nil, err
	}
	return s.attach(sl, f), nil
}

func (s *Store) openFile(sl *slot, made, create bool) (file, error) {
	if !made && !create {
		return nil, fmt.Errorf("open %s: %w", sl.path(), fs.ErrNotExist)
	}
	return s.disk.open(sl.path(), !made)
}

// attach gives the slot the file just opened, unless another user was faster, and closes what has become too many.
func (s *Store) attach(sl *slot, f file) file {
	var surplus []file
	s.mu.Lock()
	sl.made = true
	if sl.f != nil {
		surplus = append(surplus, f)
	} else {
		sl.f = f
		s.open++
	}
	s.front(sl)
	for old := s.lru.prev; s.open > s.max && old != &s.lru; {
		prev := old.prev
		if old.users == 0 {
			surplus = append(surplus, s.detach(old))
		}
		old = prev
	}
	f = sl.f
	s.mu.Unlock()
	// What was written is in the page cache; closing a local file reports nothing new.
	_ = closeAll(surplus)
	return f
}

func (s *Store) usable(sl *slot) error {
	switch {
	case s.closed:
		return errClosed()
	case sl.dead:
		return errGone()
	}
	return nil
}

// front makes the slot the one used last. s.mu is held.
func (s *Store) front(sl *slot) {
	if sl.next != nil {
		sl.prev.next, sl.next.prev = sl.next, sl.prev
	}
	sl.prev, sl.next = &s.lru, s.lru.next
	sl.prev.next, sl.next.prev = sl, sl
}

func (s *Store) release(sl *slot) {
	s.mu.Lock()
	sl.users--
	if sl.users == 0 && (sl.dead || s.closed) {
		s.idle.Broadcast()
	}
	s.mu.Unlock()
}

// detach takes an idle slot's file away, for the caller to close. s.mu is held.
func (s *Store) detach(sl *slot) file {
	f := sl.f
	if f != nil {
		sl.prev.next, sl.next.prev = sl.next, sl.prev
		sl.prev, sl.next, sl.f = nil, nil, nil
		s.open--
	}
	return f
}

// forget drops a log and deletes its files once nobody is inside them: some systems cannot delete an open file.
func (s *Store) forget(l *Log, slots ...*slot) error {
	var errs []error
	for _, sl := range slots {
		s.mu.Lock()
		sl.dead = true
		for sl.users > 0 {
			s.idle.Wait()
		}
		f, made := s.detach(sl), sl.made
		s.mu.Unlock()
		if f != nil {
			_ = f.Close() // nobody wants its bytes any more
		}
		if made {
			if err := s.disk.remove(sl.path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	s.mu.Lock()
	if s.logs[key(l.id)] == l {
		delete(s.logs, key(l.id))
	}
	s.mu.Unlock()
	return errors.Join(errs...)
}

func errClosed() error {
	return &sallyport.Error{Code: sallyport.Closed, Op: "output", Msg: "the output store is closed"}
}

func errGone() error {
	return &sallyport.Error{Code: sallyport.NotFound, Op: "output", Msg: "this session's output was removed"}
}
