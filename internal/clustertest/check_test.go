package clustertest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"rushgate/client"
	"rushgate/internal/binary"
)

// conclude holds the whole cluster against what buyers know: nothing is
// stranded, the rest is sold to whoever comes last, and then everything that
// anybody was told is true, exactly the stock is sold, and nobody has too much.
func (c *cluster) conclude(j *journal) {
	c.t.Helper()
	c.awaitReady(c.sellers())
	c.quiet()
	c.sellOut(j)
	c.quiet()
	c.checkLedger(j)
	c.checkEvents()
	for _, n := range c.ready() {
		c.audit("--server", n.URL(), "--admin-token", token)
	}
	c.audit("--ledger", c.ledger.url, "--gate", c.gate)
}

// quiet waits until nothing is between gate and ledger: what a crash stranded is
// free again after the auditor's pass.
func (c *cluster) quiet() {
	c.t.Helper()
	until(c.t, "nothing is stranded", func() error {
		report, err := c.operator.Audit(c.t.Context(), sale)
		if err != nil {
			return err
		}
		if !report.OK {
			return fmt.Errorf("audit: %+v", report.Checks)
		}
		stock, _, err := c.operator.Stock(c.t.Context(), sale)
		if err != nil {
			return err
		}
		for _, st := range stock {
			if st.Unsettled != 0 || st.Total != st.Free+st.Held+st.Confirmed {
				return fmt.Errorf("%+v", st)
			}
		}
		return nil
	})
}

// sellOut lets new people in until nothing is left.
func (c *cluster) sellOut(j *journal) {
	c.t.Helper()
	const group = 100
	for n := 0; ; n++ {
		asks := make([]client.Ask, group)
		for i := range asks {
			asks[i] = client.Ask{User: fmt.Sprintf("last-%d-%d", n, i), Key: fmt.Sprintf("last-%d-%d", n, i)}
		}
		soldOut := false
		until(c.t, "the last ones have an answer", func() error {
			results, err := c.operator.ClaimBatch(c.t.Context(), sale, asks)
			if err != nil {
				return err
			}
			for _, r := range results {
				switch client.CodeOf(r.Err) {
				case "", client.SoldOut:
				default:
					return r.Err // with the same keys, again
				}
			}
			for _, r := range results {
				if r.Err == nil {
					j.acknowledge(r.Claim)
				} else {
					soldOut = true
				}
			}
			return nil
		})
		if soldOut {
			return
		}
	}
}

// checkLedger counts in the database, without any of our code.
func (c *cluster) checkLedger(j *journal) {
	c.t.Helper()
	total := c.number(`SELECT sum(total) FROM items`)
	if taken := c.number(`SELECT coalesce(sum(quantity), 0) FROM claims WHERE state IN ('held','confirmed')`); taken != total {
		c.t.Errorf("%d units are sold of %d", taken, total)
	}
	if taken := c.number(`SELECT sum(taken) FROM items`); taken != total {
		c.t.Errorf("the stock rows say that %d units are taken of %d", taken, total)
	}
	if n := c.number(`SELECT count(*) FROM (SELECT 1 FROM claims WHERE state IN ('held','confirmed') GROUP BY user_id HAVING count(*) > 1) x`); n != 0 {
		c.t.Errorf("%d people have two", n)
	}
	if n := c.number(`SELECT count(*) FROM (SELECT 1 FROM claims WHERE idem_key IS NOT NULL GROUP BY sale, idem_key HAVING count(*) > 1) x`); n != 0 {
		c.t.Errorf("%d keys made two claims", n)
	}
	c.checkClaims(j)
}

// checkClaims looks for every claim that anybody was ever told of, and for
// claims of people who were told that there is none.
func (c *cluster) checkClaims(j *journal) {
	c.t.Helper()
	found, wrong := 0, 0
	complain := func(format string, args ...any) {
		if wrong++; wrong <= 10 {
			c.t.Errorf(format, args...)
		}
	}
	for _, row := range c.rows(`SELECT id, user_id, item, state FROM claims`) {
		id, user, item, state := row[0], row[1], row[2], row[3]
		if k := j.claims[id]; k != nil {
			found++
			if state == "revoked" && j.early {
				j.revoked++
			} else if differs := k.agree(user, item, state); differs != "" {
				complain("claim %s %s", id, differs)
			}
		}
		if j.refused[user] && (state == "held" || state == "confirmed") {
			complain("%s was told that it is sold out, and has claim %s", user, id)
		}
	}
	if found != len(j.claims) {
		c.t.Errorf("%d claims were acknowledged, %d of them are there", len(j.claims), found)
	}
	if wrong > 0 {
		c.t.Errorf("%d claims are wrong in all", wrong)
	}
}

// checkEvents reads all events of the sale, which the client counts: each state
// change of a claim is told once, in order.
func (c *cluster) checkEvents() {
	c.t.Helper()
	last := c.number(`SELECT last_seq FROM sales`)
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	states := map[string][]string{}
	for e, err := range c.operator.Events(ctx, sale, 0) {
		if err != nil {
			c.t.Fatalf("events: %v", err)
		}
		if e.Claim != nil {
			states[e.Claim.ID] = append(states[e.Claim.ID], e.Claim.State)
		}
		if e.Seq == last {
			break
		}
	}
	for _, row := range c.rows(`SELECT id, state FROM claims`) {
		told := states[row[0]]
		delete(states, row[0])
		if n := len(told); n == 0 || n > 2 || told[n-1] != row[1] || n == 2 && told[0] != "held" {
			c.t.Errorf("claim %s is %s, and its events say %v", row[0], row[1], told)
		}
	}
	if len(states) > 0 {
		c.t.Errorf("events tell of %d claims that are not there: %v", len(states), slices.Sorted(maps.Keys(states)))
	}
}

// audit runs the command, which must find nothing wrong.
func (c *cluster) audit(flags ...string) {
	c.t.Helper()
	r, err := binary.Run(program, append([]string{"audit", sale}, flags...)...)
	if err != nil {
		c.t.Fatal(err)
	}
	if r.Status != 0 {
		c.t.Errorf("rushgate audit %v ends with %d: %s%s", flags, r.Status, r.Out, r.Err)
	}
}
