package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// interleave is a set of things to time turn by turn, so that each meets the same moments of the machine.
type interleave []struct {
	name string
	once func() (time.Duration, error)
}

// samples are durations by name, sorted.
type samples map[string][]time.Duration

// run does a number of turns that do not count, then n that do. Every turn has another order: what comes after a busy
// neighbour finds warm caches and an awake core, and none may always be the lucky one.
func (m interleave) run(warm, n int) (samples, error) {
	got := samples{}
	for i := range warm + n {
		for _, k := range rand.Perm(len(m)) {
			one := m[k]
			took, err := one.once()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", one.name, err)
			}
			if i >= warm {
				got[one.name] = append(got[one.name], took)
			}
		}
	}
	for _, s := range got {
		slices.Sort(s)
	}
	return got, nil
}

func (s samples) p50(name string) time.Duration { return s[name][len(s[name])/2] }

// median of unsorted numbers.
func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}
