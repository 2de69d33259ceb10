// Package gate turns a plan into a grant or a refusal. It is the only package that makes grants (internal/mint), so no
// path to a host goes round it. It starts nothing and records nothing; an error while deciding denies.
package gate

import (
	"context"
	"strings"
	"time"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/internal/mint"
)

// grantLife is how long a grant waits for its start. A start follows at once; the time covers a queue of starts.
const grantLife = time.Minute

// Policy judges plans. package policy's Rules implement it.
type Policy interface {
	Decide(r sallyport.Request, p sallyport.Plan) sallyport.Decision
}

// A Gate admits plans under the policy in force.
type Gate struct{ policy func() Policy }

// New makes a gate; policy is asked for the current rules at every admission.
func New(policy func() Policy) *Gate { return &Gate{policy} }

// Admit judges a plan for a request. The decision is returned in every case; the error is [sallyport.Denied] if there
// is no grant.
func (g *Gate) Admit(_ context.Context, r sallyport.Request, p sallyport.Plan) (sallyport.Grant, sallyport.Decision, error) {
	policy := g.policy()
	if policy == nil {
		d := sallyport.Decision{Reasons: []sallyport.Reason{{Rule: "policy", Text: "there is no policy in force"}}}
		return sallyport.Grant{}, d, refusal(d)
	}
	d := policy.Decide(r, p)
	switch d.Verdict {
	case sallyport.Allow:
		grant, ok := mint.Grant(p, d, time.Now().Add(grantLife)).(sallyport.Grant)
		if !ok {
			return sallyport.Grant{}, sallyport.Decision{}, refusal(sallyport.Decision{})
		}
		return grant, d, nil
	case sallyport.Ask:
		d.Reasons = append(d.Reasons, sallyport.Reason{Rule: "ask", Text: "a person would have to agree, and there is no approver"})
	case sallyport.Deny:
	}
	return sallyport.Grant{}, d, refusal(d)
}

// refusal puts a decision into words: every reason, and the first better way.
func refusal(d sallyport.Decision) error {
	e := &sallyport.Error{Code: sallyport.Denied, Op: "gate.Admit"}
	var texts []string
	for _, r := range d.Reasons {
		texts = append(texts, r.Text)
		if e.Hint == "" {
			e.Hint = r.Instead
		}
	}
	if e.Msg = strings.Join(texts, "; "); e.Msg == "" {
		e.Msg = "nothing allows it"
	}
	return e
}
