package policy

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-sh/sallyport"
)

var (
	levels = []sallyport.Security{"", "deny", "full", "nonsense", "FULL"}
	kinds  = []sallyport.Kind{"", sallyport.Human, sallyport.Agent, sallyport.Node, sallyport.Service}
	roles  = []sallyport.Role{sallyport.Guest, sallyport.User, sallyport.Admin}
)

// Whatever is asked, a call can only tighten: adding a level, taking away a role or a kind never loosens the verdict.
func TestNothingLoosens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rules{Level: rapid.SampledFrom(levels).Draw(t, "level")}
		if rapid.Bool().Draw(t, "agent section") {
			r.Agents = map[string]sallyport.Security{"a": rapid.SampledFrom(levels).Draw(t, "agent level")}
		}
		q := sallyport.Request{Caller: sallyport.Caller{
			Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Role: rapid.SampledFrom(roles).Draw(t, "role"),
			AgentID: rapid.SampledFrom([]string{"", "a"}).Draw(t, "agent"),
		}}
		p := sallyport.Plan{Host: rapid.SampledFrom([]sallyport.HostName{"gateway", "sandbox", ""}).Draw(t, "host")}
		plain := r.Decide(q, p)
		q.Security = rapid.SampledFrom(levels).Draw(t, "call")
		tightened := r.Decide(q, p)
		if tightened.Verdict > plain.Verdict {
			t.Fatalf("security=%q loosens %v to %v", q.Security, plain.Verdict, tightened.Verdict)
		}
		if tightened.Verdict < sallyport.Allow && len(tightened.Reasons) == 0 {
			t.Fatal("a refusal without a reason")
		}
		if tightened.Verdict != sallyport.Allow && tightened.Input != sallyport.InputNone {
			t.Fatal("input to what may not run")
		}
		q.Caller.Role, q.Caller.Kind = sallyport.Guest, ""
		if v := r.Decide(q, p).Verdict; v != sallyport.Deny {
			t.Fatalf("nobody in particular: %v, want deny", v)
		}
	})
}

func TestZeroDenies(t *testing.T) {
	admin := sallyport.Caller{Kind: sallyport.Agent, Role: sallyport.Admin}
	if v := (Rules{}).Decide(sallyport.Request{Caller: admin}, sallyport.Plan{Host: "gateway"}).Verdict; v != sallyport.Deny {
		t.Errorf("the zero rules: %v, want deny", v)
	}
	full := Rules{Level: sallyport.SecurityFull}
	if v := full.Decide(sallyport.Request{Caller: admin}, sallyport.Plan{Host: "gateway"}).Verdict; v != sallyport.Allow {
		t.Errorf("full: %v, want allow", v)
	}
	if min(sallyport.Deny, sallyport.Ask, sallyport.Allow) != sallyport.Deny {
		t.Error("the strictest verdict is not the least")
	}
}
