package crashtest

import (
	"os"
	"testing"

	"rushgate/client"
	"rushgate/internal/binary"
)

// dieAt starts a server that dies at a moment of its second claim, makes two
// claims, and returns the first and the folder. The second got no answer.
func dieAt(t *testing.T, moment string) (first *client.Claim, data string) {
	t.Helper()
	data = t.TempDir()
	s, err := binary.StartCommand(os.Args[0], []string{childMode + "=" + moment, childData + "=" + data})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	if err := s.Await(); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, s)
	defer c.Close()
	ctx := t.Context()
	if _, err := c.CreateSale(ctx, client.Sale{ID: "s", PerUser: 1, Hold: "1h", Items: []client.Item{{ID: "a", Stock: 10}}}); err != nil {
		t.Fatal(err)
	}
	if first, err = c.Claim(ctx, "s", client.Ask{User: "first", Key: "first-key"}); err != nil {
		t.Fatal(err)
	}
	if second, err := c.Claim(ctx, "s", lateAsk); !gone(err) {
		t.Fatalf("the server was to die, and answered %+v, %v", second, err)
	}
	if status := s.Wait(); status != -1 {
		t.Fatalf("the server ended with %d and not by its signal: %s", status, s.Log())
	}
	return first, data
}

var lateAsk = client.Ask{User: "late", Key: "late-key"}

// restarted serves a folder with the real program until end is called.
func restarted(t *testing.T, data string) (c *client.Client, end func()) {
	t.Helper()
	s := start(t, data, false)
	c = newClient(t, s)
	return c, func() { c.Close(); s.Kill() }
}

// free returns the units that are free, after checking that none is stranded.
func free(t *testing.T, c *client.Client) int64 {
	t.Helper()
	stock, _, err := c.Stock(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if st := stock[0]; st.Total != st.Free+st.Held+st.Confirmed {
		t.Errorf("units are stranded: %+v", st)
	}
	return stock[0].Free
}

// The gate has given the unit away and nothing is written: the crash takes the
// grant back, the unit is free, and nobody holds an order that does not exist.
func TestCrashBetweenGrantAndRecordLosesNothing(t *testing.T) {
	first, data := dieAt(t, beforeCommit)
	c, end := restarted(t, data)
	defer end()
	if got, err := c.GetClaim(t.Context(), first.ID); err != nil || got.User != "first" {
		t.Errorf("the claim that was acknowledged: %+v, %v", got, err)
	}
	if n := free(t, c); n != 9 {
		t.Errorf("%d units are free, want 9", n)
	}
	again, err := c.Claim(t.Context(), "s", lateAsk)
	if err != nil || again.Replayed {
		t.Errorf("asked again: %+v, %v; want a new claim", again, err)
	}
}

// The claim is written and nobody was told: asking again with the same key
// tells, with the same order number, however often.
func TestOrderNumberSurvivesRetry(t *testing.T) {
	_, data := dieAt(t, afterCommit)
	var number string
	for range 3 { // three lives of the server
		c, end := restarted(t, data)
		if n := free(t, c); n != 8 {
			t.Errorf("%d units are free, want 8", n)
		}
		again, err := c.Claim(t.Context(), "s", lateAsk)
		if err != nil || !again.Replayed || again.User != "late" {
			t.Fatalf("asked again: %+v, %v; want the claim that was recorded", again, err)
		}
		if number != "" && again.ID != number {
			t.Errorf("the order number was %s and is %s", number, again.ID)
		}
		number = again.ID
		// Another key does not get around the limit.
		_, err = c.Claim(t.Context(), "s", client.Ask{User: "late", Key: "another"})
		if client.CodeOf(err) != client.LimitReached {
			t.Errorf("a second claim: %v", err)
		}
		end()
	}
}

// Three lives in a row, each of which adds something: whatever was there stays,
// byte by byte, and the numbers of the events go on.
func TestRestartDeletesNothing(t *testing.T) {
	first, data := dieAt(t, beforeCommit)
	const before = 2 // events: the sale and the first claim
	var history []string
	for life := range 3 {
		c, end := restarted(t, data)
		if got, err := c.GetClaim(t.Context(), first.ID); err != nil || got.State != "held" {
			t.Errorf("life %d: %+v, %v", life, got, err)
		}
		if _, err := c.Restock(t.Context(), "s", "a", 1); err != nil {
			t.Fatal(err)
		}
		events := readEvents(t, c, before+life+1)
		for i, told := range history {
			if events[i] != told {
				t.Errorf("event %d was %s and is %s", i+1, told, events[i])
			}
		}
		history = events
		end()
	}
}

// readEvents returns the first n events as they were sent; the client has
// checked that their numbers have no gaps.
func readEvents(t *testing.T, c *client.Client, n int) []string {
	t.Helper()
	var events []string
	for e, err := range c.Events(t.Context(), "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if events = append(events, string(e.Raw)); len(events) == n {
			break
		}
	}
	return events
}
