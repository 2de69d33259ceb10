package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Env returns the snapshot with what the environment says at the start of a server:
//
//   - SALLYPORT_YIELD_MS (or PI_BASH_YIELD_MS) is the default of exec.background_ms, clamped to its range; the file wins.
//   - SALLYPORT_MAX_OUTPUT_CHARS (or PI_BASH_MAX_OUTPUT_CHARS) is the most that exec.max_output and a call can ask for,
//     clamped to its range; larger values of the file are lowered.
//   - SALLYPORT_KILL replaces exec.kill, for every agent.
//
// Numbers are read strictly: what is none is ignored with a warning. An empty variable is one that is not set. The
// result is s itself if nothing applies.
func Env(s *Snapshot, lookup func(string) (string, bool)) *Snapshot {
	e := &overlay{from: s, lookup: lookup}
	e.yield()
	e.ceiling()
	e.kill()
	if e.out == nil {
		return s
	}
	return e.out.finish()
}

// An overlay copies the snapshot on the first change.
type overlay struct {
	from   *Snapshot
	out    *Snapshot
	lookup func(string) (string, bool)
}

func (e *overlay) snapshot() *Snapshot {
	if e.out == nil {
		c := *e.from
		c.Agents, c.origin, c.Warnings = maps.Clone(c.Agents), maps.Clone(c.origin), slices.Clone(c.Warnings)
		e.out = &c
	}
	return e.out
}

// each changes the global table exec and that of every agent. The id of the global one is empty.
func (e *overlay) each(change func(id string, x *Exec)) {
	s := e.snapshot()
	change("", &s.Exec)
	for id, agent := range s.Agents {
		change(id, &agent.Exec)
		s.Agents[id] = agent
	}
}

// first is the first of the variables that is set.
func (e *overlay) first(names ...string) (name, value string, ok bool) {
	for _, name := range names {
		if v, _ := e.lookup(name); v != "" {
			return name, v, true
		}
	}
	return "", "", false
}

func (e *overlay) warn(format string, args ...any) {
	s := e.snapshot()
	s.Warnings = append(s.Warnings, fmt.Sprintf(format, args...))
}

// number reads the first of the variables that is set, clamped to the range of key.
func (e *overlay) number(key string, names ...string) (n int64, name string, ok bool) {
	name, value, ok := e.first(names...)
	if !ok {
		return 0, "", false
	}
	f := fileSchema().byName[key]
	n, err := strictInt(value)
	if err != nil {
		e.warn("%s=%q is not a whole number and is ignored", name, value)
		return 0, "", false
	}
	if c := min(max(n, f.least), f.most); c != n {
		e.warn("%s=%s is out of range (%s): %d is used", name, value, f.allowed(), c)
		n = c
	}
	return n, name, true
}

// strictInt accepts decimal digits with an optional minus. A number too large for an int64 is the largest one: it will
// be clamped in any case.
func strictInt(s string) (int64, error) {
	if s[0] == '+' {
		return 0, strconv.ErrSyntax
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		if s[0] == '-' {
			return math.MinInt64, nil
		}
		return math.MaxInt64, nil
	}
	return n, err
}

func (e *overlay) yield() {
	const key = "exec.background_ms"
	n, name, ok := e.number(key, "SALLYPORT_YIELD_MS", "PI_BASH_YIELD_MS")
	if !ok || e.from.origin[key] != "" {
		return
	}
	f := fileSchema().byName[key]
	s := e.snapshot()
	s.origin[key] = name
	e.each(func(id string, x *Exec) {
		if id == "" || s.origin[agentKey(id, key)] == "" {
			x.Background = f.duration(n)
		}
	})
}

func (e *overlay) ceiling() {
	n, name, ok := e.number("exec.max_output", "SALLYPORT_MAX_OUTPUT_CHARS", "PI_BASH_MAX_OUTPUT_CHARS")
	if !ok {
		return
	}
	most := int(n)
	s := e.snapshot()
	e.each(func(id string, x *Exec) {
		x.MaxOutputLimit = most
		for key, v := range map[string]*int{"exec.max_output": &x.MaxOutput, "exec.pending_max_output": &x.PendingMaxOutput} {
			if *v <= most {
				continue
			}
			*v = most
			if id == "" {
				s.origin[key] = name
			} else if k := agentKey(id, key); s.origin[k] != "" {
				s.origin[k] = name
			}
		}
	})
}

func (e *overlay) kill() {
	const key, name = "exec.kill", "SALLYPORT_KILL"
	value, _ := e.lookup(name)
	if value == "" {
		return
	}
	f := fileSchema().byName[key]
	if !slices.Contains(f.words, value) {
		e.warn("%s=%q is not one of %s and is ignored", name, value, f.allowed())
		return
	}
	s := e.snapshot()
	s.origin[key] = name
	e.each(func(id string, x *Exec) {
		x.Kill = value
		if k := agentKey(id, key); id != "" && s.origin[k] != "" {
			s.origin[k] = name
		}
	})
}
