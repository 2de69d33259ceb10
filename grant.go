package sallyport

import (
	"sync/atomic"
	"time"

	"github.com/sallyport-sh/sallyport/internal/mint"
)

// A Grant is the permission to do one Plan once, until a time. Its fields are unexported and there is no constructor:
// a gate makes grants through internal/mint, and nobody else can import that. The zero Grant permits nothing.
type Grant struct{ g *grant }

type grant struct {
	plan     Plan
	decision Decision
	notAfter time.Time
	used     atomic.Bool
}

func init() {
	mint.Set(func(plan, decision any, notAfter time.Time) any {
		return Grant{&grant{plan: plan.(Plan), decision: decision.(Decision), notAfter: notAfter}}
	})
}

// Plan is what the grant permits. It is the zero Plan for the zero Grant.
func (g Grant) Plan() Plan {
	if g.g == nil {
		return Plan{}
	}
	return g.g.plan
}

// Decision is why.
func (g Grant) Decision() Decision {
	if g.g == nil {
		return Decision{}
	}
	return g.g.decision
}

// Redeem uses the grant up. It fails with [Denied] for the zero grant, a used one, an expired one, and one whose
// decision is not Allow. A Host calls it once, before anything is started.
func (g Grant) Redeem(now time.Time) error {
	switch {
	case g.g == nil:
		return &Error{Code: Denied, Msg: "no grant: nothing runs that the gate did not allow"}
	case g.g.decision.Verdict != Allow:
		return &Error{Code: Denied, Msg: "the grant does not allow this plan"}
	case now.After(g.g.notAfter):
		return &Error{Code: Denied, Msg: "the grant has expired", Hint: "send the request again"}
	case !g.g.used.CompareAndSwap(false, true):
		return &Error{Code: Denied, Msg: "the grant was used before: one grant, one run"}
	}
	return nil
}
