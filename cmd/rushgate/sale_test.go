package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rushgate/client"
	"rushgate/internal/binary"
)

// A whole sale from the command line, with nothing but a server's folder.
func TestSaleFromTheCommandLine(t *testing.T) {
	data := t.TempDir()
	s := serve(t, data)
	on := func(args ...string) []string { return append(args, "--server", s.URL, "--data", data) }

	out := succeeds(t, on("sale", "create", "--id", "shoes", "--name", "Shoes", "--item", "eu42:EU 42, wide=3", "--item", "eu43=2", "--per-user", "2")...)
	for _, want := range []string{"shoes", "open", "eu42", "EU 42, wide"} {
		if !strings.Contains(out, want) {
			t.Errorf("create prints no %q: %s", want, out)
		}
	}
	if out := succeeds(t, on("sale", "list")...); !strings.Contains(out, "shoes") {
		t.Errorf("list: %s", out)
	}
	buyer, err := client.New(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer buyer.Close()
	if _, err := buyer.Claim(t.Context(), "shoes", client.Ask{User: "u", Item: "eu43", Quantity: 2}); err != nil {
		t.Fatal(err)
	}
	fails(t, command(t, on("sale", "restock", "shoes", "--item", "eu43", "--add=-1")...), "not_enough_free")
	succeeds(t, on("sale", "restock", "shoes", "--item", "eu43", "--add", "4")...)

	var shown struct {
		client.Sale
		Stock []client.Stock `json:"stock"`
	}
	if err := json.Unmarshal([]byte(succeeds(t, on("sale", "show", "shoes", "--json")...)), &shown); err != nil {
		t.Fatal(err)
	}
	want := client.Stock{Item: "eu43", Total: 6, Free: 4, Held: 2}
	if len(shown.Stock) != 2 || shown.Stock[1] != want || shown.ID != "shoes" {
		t.Errorf("show: %+v", shown)
	}
	if out := succeeds(t, on("sale", "freeze", "shoes")...); !strings.Contains(out, "frozen") {
		t.Errorf("freeze: %s", out)
	}
	if _, err := buyer.Claim(t.Context(), "shoes", client.Ask{User: "v", Item: "eu42"}); client.CodeOf(err) != client.Frozen {
		t.Errorf("a claim of a frozen sale: %v", err)
	}
	succeeds(t, on("sale", "resume", "shoes")...)
	if out := succeeds(t, on("sale", "close", "shoes")...); !strings.Contains(out, "closed") {
		t.Errorf("close: %s", out)
	}
	fails(t, command(t, on("sale", "resume", "shoes")...), "wrong_state")
}

func TestSaleFromAFile(t *testing.T) {
	data := t.TempDir()
	s := serve(t, data)
	const sale = `{"id": "from-stdin", "items": [{"id": "a", "stock": 1}], "hold": "0"}`
	r, err := binary.RunWith(program, nil, sale, "sale", "create", "--file", "-", "--server", s.URL, "--data", data, "--json")
	if err != nil {
		t.Fatal(err)
	}
	var made client.Sale
	if err := json.Unmarshal([]byte(r.Out), &made); err != nil || made.ID != "from-stdin" || made.PerUser != 1 || r.Status != 0 {
		t.Errorf("%+v, %v: %s%s", made, err, r.Out, r.Err)
	}
	file := filepath.Join(t.TempDir(), "sale.json")
	if err := os.WriteFile(file, []byte(`{"id": "typo", "itmes": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, command(t, "sale", "create", "--file", file, "--server", s.URL, "--data", data), "itmes", file)
}

func TestSaleSaysWhatIsWrong(t *testing.T) {
	data := t.TempDir()
	s := serve(t, data)
	on := func(args ...string) []string { return append(args, "--server", s.URL, "--data", data) }
	fails(t, command(t, on("sale", "create", "--id", "x")...), "--stock N")
	fails(t, command(t, on("sale", "create", "--item", "a")...), "ID=STOCK")
	fails(t, command(t, on("sale", "create", "--stock", "1", "--opens-at", "tomorrow")...), "--opens-at", "+10m")
	fails(t, command(t, on("sale", "create", "--id", "BIG", "--stock", "1")...), "id", "a-z")
	fails(t, command(t, on("sale", "show", "nothing")...), "nothing")
	fails(t, command(t, "sale", "list", "--server", "http://127.0.0.1:1"), "rushgate serve", "--server")
	fails(t, command(t, "sale", "list", "--server", "localhost"), "http://HOST:PORT")
	fails(t, command(t, "sale", "show", "x", "--server", s.URL, "--data", t.TempDir()), "admin token", "--data")
	fails(t, command(t, "sale", "freeze", "x", "--server", s.URL, "--admin-token", "a-wrong-admin-token"), "does not know this admin token")
	// A refused sale is not there.
	if out := succeeds(t, "sale", "list", "--server", s.URL, "--json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("list: %s", out)
	}
}

// The audit finds what a hand in the database did, offline and over the API.
func TestAuditFindsAManipulatedLedger(t *testing.T) {
	data := t.TempDir()
	s := serve(t, data)
	on := func(args ...string) []string { return append(args, "--server", s.URL, "--data", data) }
	succeeds(t, on("sale", "create", "--id", "phones", "--stock", "2")...)
	buyer, err := client.New(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer buyer.Close()
	if _, err := buyer.Claim(t.Context(), "phones", client.Ask{User: "u"}); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"audit", "phones", "--data", data}, on("audit", "phones")} {
		if out := succeeds(t, args...); !strings.Contains(out, "never_oversold") || !strings.Contains(out, "checks hold") {
			t.Errorf("%v: %s", args, out)
		}
	}
	succeeds(t, "check", "--data", data, "--listen", "127.0.0.1:0")
	fails(t, command(t, "audit", "phoness", "--data", data), "phoness", "this ledger has phones")
	fails(t, command(t, "audit", "phones", "--data", t.TempDir()), "no ledger")

	edit(t, data, `UPDATE items SET total = 1, taken = 0`)
	edit(t, data, `INSERT INTO claims (id, sale, round, item, user_id, slot, quantity, state, created_at) VALUES (1, 'phones', 1, 'unit', 'u', 1, 1, 'held', 1)`)
	for _, args := range [][]string{{"audit", "phones", "--data", data}, on("audit", "phones")} {
		r := command(t, args...)
		for _, check := range []string{"never_oversold", "stock_rows_match_claims", "limit_per_user"} {
			if !strings.Contains(r.Out, "FAILED  "+check) {
				t.Errorf("%v does not find %s: %s", args, check, r.Out)
			}
		}
		if r.Status != 1 {
			t.Errorf("%v ends with %d", args, r.Status)
		}
	}
	r := command(t, "check", "--data", data, "--listen", "127.0.0.1:0")
	if r.Status != 1 || !strings.Contains(r.Out, "FAILED   database") && !strings.Contains(r.Out, "FAILED  database") {
		t.Errorf("check: %d %s", r.Status, r.Out)
	}
}
