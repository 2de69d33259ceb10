package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/sallyport-sh/sallyport/e2e/harness"
)

// A brokenTool is a line of testdata/cases/cases.jsonl: an input that broke another tool, and what is right.
type brokenTool struct {
	ID, Kind, Input, Right string
}

// A check tries a case against a server of its own.
type check func(*testing.T, *harness.Server)

// checks has one for every case that this version answers for.
var checks = merge(hangCases, orphanCases, outputCases, growthCases, environmentCases, protocolCases)

// later lists the cases whose subject does not exist yet, each with the reason.
var later = map[string]string{
	"HT-01": "a shell kept at its prompt needs a terminal",
	"HT-06": "interrupting a job of an interactive shell needs a terminal",
	"EN-05": "the output of a terminal",
	"OL-08": "the output of a terminal",
	"CC-04": "decisions that are remembered: the policy engine",
	"PF-01": "the analysis of shell text: the policy engine",
	"PF-03": "the analysis of shell text: the policy engine",
}

// TestCases runs the check of each case, and fails for a case that is in neither table or in both.
func TestCases(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, c := range loadCases(t) {
		known[c.ID] = true
		check, reason := checks[c.ID], later[c.ID]
		if (check == nil) == (reason == "") {
			t.Errorf("%s (%s) is in %s of the two tables: %s", c.ID, c.Kind, map[bool]string{true: "neither", false: "both"}[check == nil], c.Input)
			continue
		}
		if check == nil {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			check(t, harness.Start(t, harness.Options{Config: "exec.grace_ms = 300\n"}))
			if t.Failed() {
				t.Logf("input: %s\nright: %s", c.Input, c.Right)
			}
		})
	}
	for id := range checks {
		if !known[id] {
			t.Errorf("the check %s has no case", id)
		}
	}
	for id := range later {
		if !known[id] {
			t.Errorf("the case %s, left for later, does not exist", id)
		}
	}
}

func loadCases(t *testing.T) []brokenTool {
	t.Helper()
	f, err := os.Open("../testdata/cases/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []brokenTool
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c brokenTool
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil || len(cases) == 0 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	return cases
}

func merge(tables ...map[string]check) map[string]check {
	all := map[string]check{}
	for _, table := range tables {
		for id, c := range table {
			if all[id] != nil {
				panic("two checks for " + id)
			}
			all[id] = c
		}
	}
	return all
}
