package main

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"rushgate/client"
	"rushgate/internal/binary"
)

// burst lets people in until the server does not answer any more, and returns
// the ids of the claims that were acknowledged. When so many were, it calls
// then, once.
func burst(t *testing.T, s *binary.Server, n int64, then func()) []string {
	t.Helper()
	c, err := client.New(s.URL, client.WithRetry(client.Retry{Attempts: 1}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var mu sync.Mutex
	var ids []string
	var granted atomic.Int64
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := 0; ; i++ {
				claim, err := c.Claim(t.Context(), "phones", client.Ask{User: fmt.Sprintf("u-%d-%d", w, i)})
				if err != nil {
					code := client.CodeOf(err)
					if code == client.Unavailable && granted.Load() < n {
						continue // a server that is late, and not yet one that ends
					}
					if code != client.Unreachable && code != client.Unavailable {
						t.Errorf("a claim: %v", err)
					}
					return
				}
				mu.Lock()
				ids = append(ids, claim.ID)
				mu.Unlock()
				if granted.Add(1) == n {
					then()
				}
			}
		})
	}
	wg.Wait()
	return ids
}

// What was acknowledged is there, what was accepted was finished and answered
// (nobody has a claim that they were not told of), and the process ends well:
// an upgrade in the middle of a sale costs nobody anything.
func TestSIGTERMInABurstLosesNothing(t *testing.T) {
	data := t.TempDir()
	s := serve(t, data)
	succeeds(t, "sale", "create", "--id", "phones", "--stock", "1000000", "--server", s.URL, "--data", data)
	ids := burst(t, s, 500, func() {
		if err := s.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
	})
	if status := s.Wait(); status != 0 {
		t.Fatalf("status %d: %s", status, s.Log())
	}
	again := serve(t, data)
	c, err := client.New(again.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, id := range ids {
		if claim, err := c.GetClaim(t.Context(), id); err != nil || claim.State != "held" {
			t.Errorf("claim %s: %+v, %v", id, claim, err)
		}
	}
	operator, err := client.New(again.URL, client.WithToken(adminToken(t, data)))
	if err != nil {
		t.Fatal(err)
	}
	defer operator.Close()
	if stock, _, err := operator.Stock(t.Context(), "phones"); err != nil || stock[0].Held != int64(len(ids)) {
		t.Errorf("%d claims were acknowledged, and the stock is %+v, %v", len(ids), stock, err)
	}
	succeeds(t, "audit", "phones", "--data", data)
	if strings.Contains(s.Log(), "ERROR") {
		t.Errorf("the log has errors: %s", s.Log())
	}
}

// A stream of events would never end by itself; it does not keep the server.
func TestSIGTERMEndsStreams(t *testing.T) {
	data := t.TempDir()
	s := serve(t, data)
	succeeds(t, "sale", "create", "--id", "phones", "--stock", "1", "--server", s.URL, "--data", data)
	token := adminToken(t, data)
	c, err := client.New(s.URL, client.WithToken(token), client.WithRetry(client.Retry{Attempts: 1}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for e, err := range c.Events(t.Context(), "phones", 0) {
		if err != nil {
			break // the stream has ended
		}
		if e.Seq == 1 {
			if err := s.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	if status := s.Wait(); status != 0 {
		t.Errorf("status %d: %s", status, s.Log())
	}
}

// Whoever sends a second signal does not want to wait.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	data := t.TempDir()
	s := serve(t, data, "--shutdown-timeout", "1h")
	conn := holdRequest(t, s.URL) // keeps the first one from being enough
	defer conn.Close()
	hurry(t, s)
}

// hurry sends signals until the server has ended by one.
func hurry(t *testing.T, s *binary.Server) {
	t.Helper()
	for {
		if err := s.Signal(syscall.SIGTERM); err != nil {
			break // it has ended
		}
		select {
		case <-s.Ended():
		default:
			continue
		}
		break
	}
	if status := s.Wait(); status != -1 {
		t.Errorf("status %d, want the end by a signal: %s", status, s.Log())
	}
}

// A request that never ends does not keep the server beyond its time, and the
// exit status tells.
func TestShutdownTimeout(t *testing.T) {
	data := t.TempDir()
	s := serve(t, data, "--shutdown-timeout", "50ms")
	conn := holdRequest(t, s.URL)
	defer conn.Close()
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := s.Wait(); status != 1 || !strings.Contains(s.Log(), "--shutdown-timeout 50ms") {
		t.Errorf("status %d: %s", status, s.Log())
	}
	serve(t, data) // the folder is free
}
