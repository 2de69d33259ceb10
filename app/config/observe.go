package config

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// pollEvery is how often the file is looked at where the system has no watch left (inotify instances are few: 128 a
// user by default).
const pollEvery = 2 * time.Second

// observe calls changed, which must not block, once when it is watching and then whenever the file at path may have
// changed, until ctx is done. It watches directories, since editors replace files.
func observe(ctx context.Context, path string, log *slog.Logger, changed func()) {
	watch, err := fsnotify.NewWatcher()
	if err != nil {
		log.Warn("configuration is polled", "err", err)
		poll(ctx, changed)
		return
	}
	defer func() { _ = watch.Close() }() // nothing depends on it any more
	watched := map[string]string{}
	follow(watch, path, watched)
	changed()
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-watch.Events:
			if !ok {
				return
			}
			if name := watched[filepath.Dir(e.Name)]; name != "" && name != filepath.Base(e.Name) && watched[e.Name] == "" {
				continue
			}
			// A directory may have come or gone.
			follow(watch, path, watched)
			changed()
		case err, ok := <-watch.Errors:
			if !ok {
				return
			}
			log.Warn("configuration watch", "err", err)
			changed() // events may have been lost
		}
	}
}

// follow makes watch cover what the file at path depends on now. watched maps each watched directory to the one name in
// it that matters, empty for all.
func follow(watch *fsnotify.Watcher, path string, watched map[string]string) {
	want := dependencies(path)
	// A directory that appears before its parent is watched makes no event: look again until nothing is new. A path
	// that never comes to rest is looked at again by its next event.
	for range 10 {
		for dir := range watched {
			if _, ok := want[dir]; !ok {
				_ = watch.Remove(dir) // fails if the directory is gone, and its watch with it
				delete(watched, dir)
			}
		}
		for dir, name := range want {
			// Added again even if it is known: it may be another directory of the same name by now.
			if watch.Add(dir) == nil {
				watched[dir] = name
			} else {
				delete(watched, dir)
			}
		}
		now := dependencies(path)
		if maps.Equal(now, want) {
			return
		}
		want = now
	}
}

// dependencies are the directories of the file and of each link on the way to it, or, where one does not exist, the
// nearest directory above that does, with the name that has to appear there.
func dependencies(path string) map[string]string {
	dirs := map[string]string{}
	for range 40 { // as many links as Linux follows
		dir, name := filepath.Dir(path), ""
		for {
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				break
			}
			parent := filepath.Dir(dir)
			if parent == dir {
				return dirs
			}
			dir, name = parent, filepath.Base(dir)
		}
		if old, ok := dirs[dir]; !ok || old != "" {
			dirs[dir] = name
		}
		target, err := os.Readlink(path)
		if err != nil {
			return dirs
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	return dirs
}

// poll calls changed now and then.
func poll(ctx context.Context, changed func()) {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		changed()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
