package crashtest

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"testing"

	"rushgate/client"
	"rushgate/internal/binary"

	_ "modernc.org/sqlite" // to look at the database from outside
)

// checkAfterRestart holds the server against what buyers know, before it has
// done anything else, and then resolves every answer that got lost.
func checkAfterRestart(t *testing.T, s *binary.Server, j *journal) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := newClient(t, s)
	defer c.Close()
	checkStock(ctx, t, c)
	for _, k := range j.fresh {
		claim, err := c.GetClaim(ctx, k.ID)
		if err != nil {
			t.Errorf("claim %s was acknowledged, and now: %v", k.ID, err)
			continue
		}
		k.agree(t, claim.User, claim.Item, claim.State)
	}
	j.greedy(ctx, t, s.URL)
	j.resolve(ctx, t, c)
	j.resolvePlain(ctx, t, s.URL, c)
	for _, sale := range []string{mainSale, shortSale} {
		report, err := c.Audit(ctx, sale)
		if err != nil {
			t.Errorf("audit %s: %v", sale, err)
			continue
		}
		for _, check := range report.Checks {
			if !check.OK {
				t.Errorf("audit %s: %s: %s", sale, check.Name, check.Detail)
			}
		}
	}
}

// checkStock: the gate was built from the ledger, so nothing is stranded.
func checkStock(ctx context.Context, t *testing.T, c *client.Client) {
	t.Helper()
	for _, sale := range []string{mainSale, shortSale} {
		stock, _, err := c.Stock(ctx, sale)
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range stock {
			if st.Unsettled != 0 || st.Total != st.Free+st.Held+st.Confirmed {
				t.Errorf("%s after a restart: %+v", sale, st)
			}
		}
	}
}

// greedy lets some who have one ask for another one: the server that was just
// restarted knows them, whether or not their claim had a key.
func (j *journal) greedy(ctx context.Context, t *testing.T, url string) {
	t.Helper()
	asked := 0
	for _, k := range j.fresh {
		if k.Sale != mainSale || k.State == "released" || k.asked == "released" {
			continue
		}
		if asked++; asked > 40 {
			return
		}
		a, err := plainClaim(ctx, url, k.User, k.Item)
		if err != nil || a.Code != client.LimitReached || len(a.Claims) != 1 || a.Claims[0] != k.ID {
			t.Errorf("%s has claim %s and asks for another: %+v, %v", k.User, k.ID, a, err)
		}
	}
}

// resolve asks again what got no answer, with the same keys, and once more:
// the second answer must be the first.
func (j *journal) resolve(ctx context.Context, t *testing.T, c *client.Client) {
	t.Helper()
	for _, k := range j.fresh {
		if k.asked == "" {
			continue
		}
		do := c.Confirm
		if k.asked == "released" {
			do = c.Release
		}
		claim, err := do(ctx, k.ID)
		if err != nil || claim.State != k.asked {
			t.Errorf("claim %s to %s, asked again: %+v, %v", k.ID, k.asked, claim, err)
			continue
		}
		k.Claim, k.asked = *claim, ""
	}
	open := j.open
	j.open = nil
	for _, q := range open {
		first, err := c.Claim(ctx, q.sale, q.ask)
		if code := client.CodeOf(err); code == client.SoldOut && q.sale == shortSale || code == client.LimitReached && twin(q) {
			continue
		}
		if err != nil {
			t.Errorf("%s asks again: %v", q.ask.User, err)
			continue
		}
		if first.Replayed {
			j.recovered++
		}
		second, err := c.Claim(ctx, q.sale, q.ask)
		if err != nil || second.ID != first.ID || !second.Replayed {
			t.Errorf("%s asks a third time: %+v, %v; the second answer was %s", q.ask.User, second, err, first.ID)
			continue
		}
		j.acknowledge(second, q.ask.Key)
	}
}

// twin says that the question was one of two of the same person: the other one
// may have got the claim.
func twin(q *question) bool { return q.ask.Key[0] == 'l' || q.ask.Key[0] == 'r' }

// checkFromOutside counts in the database, without any of the server's code.
func checkFromOutside(t *testing.T, data string, j *journal, all bool) {
	t.Helper()
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.Join(data, "rushgate.db")}).String()+"?mode=ro&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	none := func(what, query string) {
		t.Helper()
		var n int
		if err := db.QueryRow(query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
	none("items are oversold", `SELECT count(*) FROM (SELECT i.total, sum(c.quantity) AS taken FROM items i
		JOIN claims c ON c.sale = i.sale AND c.item = i.item AND c.state IN ('held','confirmed')
		GROUP BY i.sale, i.item HAVING sum(c.quantity) > i.total)`)
	none("people have two", `SELECT count(*) FROM (SELECT 1 FROM claims WHERE sale = 'main' AND state IN ('held','confirmed')
		GROUP BY user_id HAVING count(*) > 1)`)
	none("keys made two claims", `SELECT count(*) FROM (SELECT 1 FROM claims WHERE idem_key IS NOT NULL GROUP BY sale, idem_key HAVING count(*) > 1)`)
	if all {
		j.checkRows(t, db)
	}
}

// checkRows looks for every claim that anybody was ever told of.
func (j *journal) checkRows(t *testing.T, db *sql.DB) {
	t.Helper()
	rows, err := db.Query(`SELECT CAST(id AS TEXT), user_id, item, state FROM claims`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	found := 0
	for rows.Next() {
		var id, user, item, state string
		if err := rows.Scan(&id, &user, &item, &state); err != nil {
			t.Fatal(err)
		}
		if k := j.claims[id]; k != nil {
			found++
			k.agree(t, user, item, state)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if found != len(j.claims) {
		t.Errorf("%d claims were acknowledged, %d of them are there", len(j.claims), found)
	}
}

// checkOffline runs the audit command on the folder.
func checkOffline(t *testing.T, data string) {
	t.Helper()
	for _, sale := range []string{mainSale, shortSale} {
		r, err := binary.Run(program, "audit", sale, "--data", data)
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != 0 {
			t.Errorf("audit %s ends with %d: %s%s", sale, r.Status, r.Out, r.Err)
		}
	}
}
