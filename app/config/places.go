package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sallyport-sh/sallyport"
)

// Paths are the places of one user. They are all absolute.
type Paths struct {
	Home    string `json:"home"`    // of the password database; what ~ means
	Config  string `json:"config"`  // the file; it may not exist
	State   string `json:"state"`   // directory of records, output and sessions; it may not exist yet
	Runtime string `json:"runtime"` // directory of sockets; it may not exist yet
	// Warnings are things to say once.
	Warnings []string `json:"warnings,omitempty"`

	homeless *noHomeError // there is no home directory, and none was needed yet
}

// Open finds and loads the configuration of this process: the way in for a program that then uses it. override is the
// file of --config, or empty.
func Open(override string) (Paths, *Snapshot, error) {
	p, err := Find(override)
	if err != nil {
		return Paths{}, nil, err
	}
	s, err := Load(p.Config)
	if err != nil {
		return Paths{}, nil, err
	}
	p, err = p.With(s)
	return p, s, err
}

// Find returns the places of the user that this process runs as. override is the file of --config, or empty. No variable
// of the environment moves a place: whoever starts a server (an agent's client reads a file in the repository) would
// move the configuration with it.
//
// A user without a home directory gets a private one below the directory of temporary files; where override is given,
// only if its file does not say where the state belongs (see With): until then Home and State are empty.
func Find(override string) (Paths, error) {
	uid := os.Getuid()
	home, err := homeOf(uid)
	missing, homeless := errors.AsType[*noHomeError](err)
	switch {
	case homeless && override == "":
		return homelessPlaces(missing, "")
	case err != nil && !homeless:
		return Paths{}, err
	case override == "":
		return Places(home, uid, ""), nil
	}
	override, err = filepath.Abs(override)
	if err != nil {
		return Paths{}, fmt.Errorf("find working directory: %w", err)
	}
	if homeless {
		return Paths{Config: override, homeless: missing}, nil
	}
	return Places(home, uid, override), nil
}

// homelessPlaces are the places of somebody without a home directory.
func homelessPlaces(missing *noHomeError, override string) (Paths, error) {
	home, err := temporaryHome(os.TempDir(), missing.uid)
	if err != nil {
		return Paths{}, &sallyport.Error{
			Code: sallyport.Unavailable, Msg: missing.Error() + ", and " + err.Error(), Hint: stateHint, Err: err,
		}
	}
	p := Places(home, missing.uid, override)
	p.Warnings = append(p.Warnings, missing.Error()+": "+home+" is used, which may not outlive a restart of the machine")
	return p, nil
}

const stateHint = `pass --config FILE with a key state = "/an/absolute/path" in the file`

// Places are the places below a home directory: `.config/sallyport/config.toml`, or override, and
// `.local/state/sallyport`. Sockets go to /run/user/UID/sallyport if the system keeps such a directory for the user, else
// to the state directory.
func Places(home string, uid int, override string) Paths {
	p := Paths{
		Home:   home,
		Config: filepath.Join(home, ".config", "sallyport", "config.toml"),
		State:  filepath.Join(home, ".local", "state", "sallyport"),
	}
	p.Runtime = p.State
	if override != "" {
		p.Config = override
	}
	if dir := filepath.Join("/run/user", strconv.Itoa(uid)); ownedBy(dir, uid) {
		p.Runtime = filepath.Join(dir, "sallyport")
	}
	return p
}

// With moves the state, and the sockets with it, to where the configuration wants it: two states of one user must not
// share sockets.
func (p Paths) With(s *Snapshot) (Paths, error) {
	if s.State != "" {
		p.State = filepath.Clean(s.State)
		p.Runtime = p.State
		return p, nil
	}
	if p.homeless != nil {
		return homelessPlaces(p.homeless, p.Config)
	}
	return p, nil
}

// MakeState makes the state directory, for its owner only, and refuses one that others can enter or that belongs to
// somebody else: it holds what commands printed.
func (p Paths) MakeState() error {
	if err := os.MkdirAll(p.State, 0o700); err != nil {
		return &sallyport.Error{
			Code: sallyport.Unavailable, Msg: "cannot make the state directory: " + err.Error(),
			Hint: "make it writable, or " + stateHint, Err: err,
		}
	}
	if err := private(p.State, os.Getuid()); err != nil {
		return &sallyport.Error{
			Code: sallyport.Unavailable, Msg: "the state directory is not private: " + err.Error(),
			Hint: "chmod 700 " + p.State, Err: err,
		}
	}
	return nil
}

// CheckState is MakeState without the making: nil also if there is no such directory.
func (p Paths) CheckState() error {
	if _, err := os.Lstat(p.State); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return private(p.State, os.Getuid())
}

// Expand replaces a leading ~ of each item by the home directory, and drops repetitions: exec.path_prepend as
// directories.
func (p Paths) Expand(list []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, item := range list {
		if p.Home != "" && (item == "~" || strings.HasPrefix(item, "~/")) {
			item = filepath.Join(p.Home, item[1:])
		}
		if !seen[item] {
			seen[item] = true
			out = append(out, item)
		}
	}
	return out
}

// A noHomeError says that a user has no usable home directory.
type noHomeError struct {
	uid  int
	home string // as the password database has it; empty: it has no such user
}

func (e *noHomeError) Error() string {
	if e.home == "" {
		return fmt.Sprintf("user %d is not in the password database", e.uid)
	}
	return fmt.Sprintf("the home directory of user %d, %s, does not exist", e.uid, e.home)
}

// temporaryHome makes a private directory for a user who has none. Its name can be foreseen, so it must be seen to be
// ours.
func temporaryHome(tmp string, uid int) (string, error) {
	dir := filepath.Join(tmp, "sallyport-"+strconv.Itoa(uid))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("make a directory for it: %w", err)
	}
	if err := private(dir, uid); err != nil {
		return "", err
	}
	return dir, nil
}
