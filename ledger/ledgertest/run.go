package ledgertest

import (
	"testing"
)

// Run holds a ledger against the contract.
func Run(t *testing.T, f Factory) {
	for _, group := range []struct {
		name  string
		tests []test
	}{
		{"Grants", grants}, {"Moves", moves}, {"Puts", puts}, {"Revokes", revokes}, {"Finds", finds}, {"Reads", reads}, {"Events", events},
		{"Unknown", unknown}, {"Tally", tallies}, {"Pitfalls", pitfalls}, {"Histories", histories},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.tests {
				t.Run(c.name, func(t *testing.T) { c.run(t, f) })
			}
		})
	}
}

type test struct {
	name string
	run  func(t *testing.T, f Factory)
}
