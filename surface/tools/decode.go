package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/internal/jsonobj"
)

// A param is a parameter of a tool and the other names that models know it by. Names are compared without regard to
// case, "_" and "-".
type param struct {
	name  string
	other []alias
}

// An alias is another name, in its folded form. Numbers given under it are divided by per.
type alias struct {
	fold string
	per  float64
}

// names makes aliases of the same unit.
func names(folded ...string) []alias {
	all := make([]alias, len(folded))
	for i, f := range folded {
		all[i] = alias{f, 1}
	}
	return all
}

func fold(name string) string {
	if strings.ContainsAny(name, "_-") {
		name = strings.Map(func(r rune) rune {
			if r == '_' || r == '-' {
				return -1
			}
			return r
		}, name)
	}
	return strings.ToLower(name)
}

// An argument is one that was given, under its right name.
type argument struct {
	name  string
	value json.RawMessage
	per   float64
	as    string // the name that was used
}

// arguments resolves what a call gave. Each parameter may be given once, under any of its names; null is as if it were
// not there, since models send it for what they leave out.
func arguments(raw json.RawMessage, tool string, params []param) ([]argument, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	members, err := jsonobj.Members(raw)
	if errors.Is(err, jsonobj.ErrNotObject) {
		return nil, invalid(fmt.Sprintf("the arguments of %s must be an object, not %s", tool, kind(raw)), "")
	}
	if err != nil {
		return nil, invalid("the arguments can't be read: "+err.Error(), "")
	}
	args := make([]argument, 0, len(members))
	for _, m := range members {
		a, err := resolve(m, tool, params)
		if err != nil {
			return nil, err
		}
		for _, b := range args {
			if b.name != a.name {
				continue
			}
			if b.as == a.as {
				return nil, invalid(fmt.Sprintf("parameter %q was given twice", a.as), "")
			}
			return nil, invalid(fmt.Sprintf("%q and %q are the same parameter: give one of them", b.as, a.as), "")
		}
		args = append(args, a)
	}
	kept := args[:0]
	for _, a := range args {
		if string(a.value) != "null" {
			kept = append(kept, a)
		}
	}
	return kept, nil
}

func resolve(m jsonobj.Member, tool string, params []param) (argument, error) {
	f := fold(m.Name)
	for _, p := range params {
		if m.Name == p.name || f == strings.ToLower(p.name) {
			return argument{p.name, m.Value, 1, m.Name}, nil
		}
		for _, o := range p.other {
			if f == o.fold {
				return argument{p.name, m.Value, o.per, m.Name}, nil
			}
		}
	}
	return argument{}, unknown(m.Name, tool, params)
}

// invalid is a call that must be sent again, corrected.
func invalid(msg, hint string) error {
	return &sallyport.Error{Code: sallyport.Invalid, Msg: msg, Hint: hint}
}
