// Package policy says what the rules say of a plan: Decide is pure and total, and everything undecided is denied. In
// this version the rules are a level (deny or full) and the caller's role; the order in which they combine is the one
// that later rules join: the base verdict, then min with every restriction.
package policy

import "github.com/sallyport-sh/sallyport"

// Rules are one immutable set of rules. The zero value denies everything.
type Rules struct {
	Level    sallyport.Security            // of the host
	Agents   map[string]sallyport.Security // of agents with a section of their own, instead of Level
	Revision string                        // of the configuration they come from
}

// Decide judges a plan for a request.
func (r Rules) Decide(q sallyport.Request, p sallyport.Plan) sallyport.Decision {
	configured := r.Level
	if own, ok := r.Agents[q.Caller.AgentID]; ok {
		configured = own
	}
	d := sallyport.Decision{Verdict: base(configured), Revision: r.Revision}
	if d.Verdict == sallyport.Deny {
		d.Reasons = append(d.Reasons, sallyport.Reason{
			Rule: "security", Text: "exec denied: host=" + string(p.Host) + " security=" + level(configured),
			Instead: "ask a person to set [tools.exec] security",
		})
	}
	for _, limit := range []func(sallyport.Request, sallyport.Plan) (sallyport.Verdict, sallyport.Reason){byRole, byCall} {
		v, reason := limit(q, p)
		if v < sallyport.Allow {
			d.Reasons = append(d.Reasons, reason)
		}
		d.Verdict = min(d.Verdict, v)
	}
	if d.Verdict == sallyport.Allow {
		d.Input = sallyport.InputFree
	}
	return d
}

// base is the verdict of a level. An unknown level denies.
func base(s sallyport.Security) sallyport.Verdict {
	if s == sallyport.SecurityFull {
		return sallyport.Allow
	}
	return sallyport.Deny
}

func level(s sallyport.Security) string {
	if s == "" {
		return string(sallyport.SecurityDeny)
	}
	return string(s)
}

// byRole: guests run nothing, users run inside a sandbox only, and this version has none.
func byRole(q sallyport.Request, p sallyport.Plan) (sallyport.Verdict, sallyport.Reason) {
	if q.Caller.Kind == "" || q.Caller.Role == sallyport.Guest {
		return sallyport.Deny, sallyport.Reason{Rule: "role", Text: "guests run nothing"}
	}
	if q.Caller.Role < sallyport.Admin && p.Host == sallyport.Gateway {
		return sallyport.Deny, sallyport.Reason{
			Rule: "role", Text: "role user may run commands in a sandbox only, not on host gateway",
			Instead: "ask a person for role admin",
		}
	}
	return sallyport.Allow, sallyport.Reason{}
}

// byCall lets a call tighten the level for itself.
func byCall(q sallyport.Request, _ sallyport.Plan) (sallyport.Verdict, sallyport.Reason) {
	if q.Security == "" || q.Security == sallyport.SecurityFull {
		return sallyport.Allow, sallyport.Reason{}
	}
	return base(q.Security), sallyport.Reason{Rule: "call", Text: "the call itself asked for security=" + string(q.Security)}
}
