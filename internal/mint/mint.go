// Package mint is the one hole in the wall round sallyport.Grant: package sallyport puts its constructor here, and the
// gate takes it out. internal/archtest keeps every other package from importing it.
package mint

import "time"

var grant func(plan, decision any, notAfter time.Time) any

// Set registers the constructor. Package sallyport calls it once, from an init function.
func Set(f func(plan, decision any, notAfter time.Time) any) { grant = f }

// Grant makes a sallyport.Grant of a sallyport.Plan and a sallyport.Decision; other types panic.
func Grant(plan, decision any, notAfter time.Time) any { return grant(plan, decision, notAfter) }
