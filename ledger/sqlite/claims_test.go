package sqlite

import (
	"strings"
	"testing"

	"rushgate"
)

// TestAPageOfClaimsIsFoundFromItsCursorOn looks at SQLite's plan: however many
// claims a sale or a user has, a page must begin where the last one ended.
func TestAPageOfClaimsIsFoundFromItsCursorOn(t *testing.T) {
	l, err := Open(t.Context(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for user, want := range map[string][]string{
		"":    {"claims_by_sale (sale=? AND id>?)"},
		"ann": {"claims_slot (sale=? AND round=? AND user_id=? AND slot=? AND rowid>?)", "claims_slot (sale=? AND round=? AND user_id=? AND slot>?)"},
	} {
		for _, item := range []string{"", "a"} {
			query, args := claimsQuery(rushgate.ClaimQuery{Sale: "s", User: user, Item: item, State: rushgate.Held, After: 5, Limit: 10})
			rows, err := l.r.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
			if err != nil {
				t.Fatal(err)
			}
			var plan strings.Builder
			for rows.Next() {
				var id, parent, unused int
				var step string
				if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
					t.Fatal(err)
				}
				plan.WriteString(step + "\n")
			}
			if err := rows.Close(); err != nil {
				t.Fatal(err)
			}
			for _, w := range want {
				if !strings.Contains(plan.String(), w) {
					t.Errorf("user %q: the plan does not use %s:\n%s", user, w, plan.String())
				}
			}
		}
	}
}
