package redis_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"rushgate"
	"rushgate/gate/redis"
	"rushgate/internal/testenv"
)

// shop is a gate with a sale, and what a desk does with them.
type shop struct {
	t    *testing.T
	gate *redis.Gate
	sale rushgate.Sale
	last rushgate.ID
	seen [10]atomic.Int64 // incidents, in the order of kinds
}

var kinds = []redis.IncidentKind{redis.Forgotten, redis.Repeated, redis.Unreachable, redis.JournalFull, redis.NotCopied, redis.Moved}

func newShop(t *testing.T, url string, opts redis.Options, shards int) *shop {
	t.Helper()
	s := &shop{t: t, last: 1000, sale: rushgate.Sale{ID: "sale", PerUser: 1, Version: 1, Shards: shards, Ack: rushgate.Recorded}}
	opts.Observe = func(i redis.Incident) {
		for n, kind := range kinds {
			if kind == i.Kind {
				s.seen[n].Add(int64(i.N))
			}
		}
	}
	s.gate = open(t, url, opts)
	t.Cleanup(func() {
		if err := s.gate.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *shop) count(kind redis.IncidentKind) int64 {
	for n := range kinds {
		if kinds[n] == kind {
			return s.seen[n].Load()
		}
	}
	return -1
}

// load loads the sale under the next epoch, with nobody having anything.
func (s *shop) load(stock int64) {
	s.t.Helper()
	s.sale.Epoch++
	err := s.gate.Load(s.t.Context(), rushgate.Snapshot{Sale: &s.sale, Stock: []rushgate.Stock{{Item: "a", Total: stock}},
		Claims: func(func(rushgate.Claim, error) bool) {}})
	if err != nil {
		s.t.Fatal(err)
	}
}

// asks makes asks of so many new users.
func (s *shop) asks(n int) []rushgate.Ask {
	asks := make([]rushgate.Ask, n)
	for i := range asks {
		s.last++
		asks[i] = rushgate.Ask{ID: s.last, Sale: "sale", Item: "a", User: fmt.Sprint("user ", s.last), Quantity: 1}
	}
	return asks
}

// decide has asks decided, and counts the answers.
func (s *shop) decide(asks []rushgate.Ask) (map[rushgate.Code]int, []rushgate.Claim) {
	s.t.Helper()
	out := make([]rushgate.Decision, len(asks))
	if err := s.gate.Claim(s.t.Context(), time.Now(), asks, out); err != nil {
		s.t.Fatal(err)
	}
	codes, claims := map[rushgate.Code]int{}, []rushgate.Claim(nil)
	for i, d := range out {
		codes[d.Code]++
		if d.Code == rushgate.Granted {
			a := asks[i]
			claims = append(claims, rushgate.Claim{ID: a.ID, Sale: a.Sale, Item: a.Item, User: a.User, Quantity: 1, Slot: d.Slot})
		}
	}
	return codes, claims
}

// want expects the same answer to all asks of a batch.
func (s *shop) want(code rushgate.Code, asks []rushgate.Ask) []rushgate.Claim {
	s.t.Helper()
	codes, claims := s.decide(asks)
	if codes[code] != len(asks) {
		s.t.Fatalf("got %v, want %s", codes, code)
	}
	return claims
}

func (s *shop) free(free, unsettled int64) {
	s.t.Helper()
	counts, err := s.gate.Count(s.t.Context(), "sale")
	if err != nil || counts[0].Free != free || counts[0].Unsettled != unsettled {
		s.t.Fatalf("got %+v, %v; want %d free, %d unsettled", counts, err, free, unsettled)
	}
}

// forgotten expects that the gate finds out, and can be loaded anew.
func (s *shop) forgotten() {
	s.t.Helper()
	s.want(rushgate.Forgot, s.asks(3))
	out := make([]rushgate.Decision, 1)
	if err := s.gate.Claim(s.t.Context(), time.Now(), s.asks(1), out); err != nil || out[0].Epoch != s.sale.Epoch {
		s.t.Fatalf("the epoch of what was forgotten is %d: %+v, %v", s.sale.Epoch, out[0], err)
	}
	if m, err := s.gate.Mark(s.t.Context(), "sale"); err != nil || m != (rushgate.Mark{}) {
		s.t.Fatalf("the mark of what was forgotten: %+v, %v", m, err)
	}
	_, _, err := s.gate.Orphans(s.t.Context(), "sale", 0, 1)
	var e *rushgate.Error
	if !errors.As(err, &e) || e.Code != rushgate.Forgot || e.Epoch != s.sale.Epoch {
		s.t.Fatalf("the orphans of what was forgotten: %v", err)
	}
	if s.count(redis.Forgotten) == 0 {
		s.t.Fatal("nobody was told")
	}
	s.load(10)
	s.want(rushgate.Granted, s.asks(3))
}

// raw returns a plain client.
func raw(t *testing.T, addr string) rueidis.Client {
	t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func command(t *testing.T, c rueidis.Client, words ...string) string {
	t.Helper()
	r := c.Do(t.Context(), c.B().Arbitrary(words...).Build())
	if err := r.Error(); err != nil && !rueidis.IsRedisNil(err) {
		t.Fatalf("%s: %v", words, err)
	}
	text, _ := r.ToString()
	return text
}

func TestAFlushedRedisHasForgotten(t *testing.T) {
	server := testenv.Redis(t)
	s := newShop(t, server.URL(), fresh(), 1)
	s.load(10)
	s.want(rushgate.Granted, s.asks(3))
	command(t, raw(t, server.Addr), "FLUSHALL")
	s.forgotten()
}

func TestARestartWithoutPersistenceIsForgetting(t *testing.T) {
	t.Parallel() // it waits more than it works
	server := testenv.Redis(t)
	s := newShop(t, server.URL(), hasty(fresh()), 1)
	s.load(10)
	s.want(rushgate.Granted, s.asks(3))
	server.Kill()
	s.want(rushgate.Unavailable, s.asks(3))
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	s.forgotten()
}

// All its data are there, but nobody knows whether all of them are.
func TestARestartWithPersistenceIsForgettingToo(t *testing.T) {
	server := testenv.Redis(t, "appendonly yes", "appendfsync always")
	s := newShop(t, server.URL(), fresh(), 2)
	s.load(10)
	s.want(rushgate.Granted, s.asks(3))
	server.Restart(t)
	s.forgotten()
}

// A node that has seen more than the server knows finds out, though the server
// is the same: somebody put old data back.
func TestOldDataAreNotBelieved(t *testing.T) {
	server := testenv.Redis(t)
	s := newShop(t, server.URL(), fresh(), 1)
	s.load(10)
	for range 3 {
		s.want(rushgate.Granted, s.asks(3))
	}
	c := raw(t, server.Addr)
	key := fmt.Sprintf("t%d:{sale.0}:control", prefixes.Load())
	command(t, c, "HSET", key, "seq", "1")
	s.forgotten()
}

func TestScriptsThatWereFlushedAreSentAgain(t *testing.T) {
	server := testenv.Redis(t)
	s := newShop(t, server.URL(), fresh(), 3)
	s.load(30)
	for range 3 {
		command(t, raw(t, server.Addr), "SCRIPT", "FLUSH")
		claims := s.want(rushgate.Granted, s.asks(10))
		if err := s.gate.Settle(t.Context(), claims); err != nil {
			t.Fatal(err)
		}
	}
	s.free(0, 0)
}

// Whatever gives back or stops goes on when the memory is full.
func TestAFullMemoryGrantsNothing(t *testing.T) {
	server := testenv.Redis(t)
	s := newShop(t, server.URL(), fresh(), 1)
	s.load(100)
	claims := s.want(rushgate.Granted, s.asks(10))
	c := raw(t, server.Addr)
	command(t, c, "CONFIG", "SET", "maxmemory", "100kb")
	s.want(rushgate.Unavailable, s.asks(10))
	s.free(90, 10)
	for _, err := range []error{s.gate.Settle(t.Context(), claims[:4]), s.gate.Return(t.Context(), claims[:2]), s.gate.Forget(t.Context(), claims[8:])} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s.free(94, 4)
	s.sale.Frozen = true
	s.sale.Version++
	if err := s.gate.Put(t.Context(), &rushgate.Put{Sale: &s.sale}); err != nil {
		t.Fatal(err)
	}
	command(t, c, "CONFIG", "SET", "maxmemory", "0")
	s.want(rushgate.Frozen, s.asks(1))
	s.sale.Frozen = false
	s.sale.Version++
	if err := s.gate.Put(t.Context(), &rushgate.Put{Sale: &s.sale}); err != nil {
		t.Fatal(err)
	}
	s.want(rushgate.Granted, s.asks(94))
}

// The ledger cannot keep up: what is granted and not recorded stays bounded.
func TestAFullJournalStopsGrants(t *testing.T) {
	opts := fresh()
	opts.Journal = 5
	s := newShop(t, server.Server(t).URL(), opts, 1)
	s.load(100)
	codes, claims := s.decide(s.asks(8))
	if codes[rushgate.Granted] != 5 || codes[rushgate.Overloaded] != 3 || s.count(redis.JournalFull) != 3 {
		t.Fatalf("got %v, want 5 granted, 3 overloaded", codes)
	}
	again := rushgate.Ask{ID: claims[0].ID, Sale: "sale", Item: "a", User: claims[0].User, Quantity: 1}
	s.want(rushgate.Granted, []rushgate.Ask{again})
	s.want(rushgate.Overloaded, s.asks(1))
	if err := s.gate.Settle(t.Context(), claims[:2]); err != nil {
		t.Fatal(err)
	}
	codes, _ = s.decide(s.asks(8))
	if codes[rushgate.Granted] != 2 || codes[rushgate.Overloaded] != 6 {
		t.Fatalf("got %v, want 2 granted, 6 overloaded", codes)
	}
	s.free(93, 5)
}

// An answer that got lost is asked for again with the same ids.
func TestAServerThatStoodStill(t *testing.T) {
	server := testenv.Redis(t)
	opts := fresh()
	calm := newShop(t, server.URL(), opts, 2)
	opts.Timeout, opts.Patience = 500*time.Millisecond, 2*time.Second
	s := newShop(t, server.URL(), opts, 2)
	calm.load(10)
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	asks := s.asks(4)
	s.want(rushgate.Unavailable, asks)
	if err := server.Resume(); err != nil {
		t.Fatal(err)
	}
	soon(t, "the claims are found", func() bool { codes, _ := s.decide(asks); return codes[rushgate.Granted] == 4 })
	calm.free(6, 4)
	if s.count(redis.Repeated) == 0 || s.count(redis.Unreachable) == 0 {
		t.Fatal("nobody was told")
	}
}

// Units that a node took out of a shard before it died arrive by Mend, once.
func TestUnitsLeftBetweenShardsArrive(t *testing.T) {
	opts := fresh()
	s := newShop(t, server.Server(t).URL(), opts, 2)
	s.load(10)
	c := raw(t, server.Server(t).Addr)
	from, to := opts.Prefix+"{sale.0}:", opts.Prefix+"{sale.1}:"
	at := time.Now().Add(-time.Minute).UnixMilli()
	command(t, c, "HSET", from+"control", "free:a", "2", "moves", "1")
	command(t, c, "HSET", from+"moves:1", "out:lost", fmt.Sprint("a 3 1 ", at))
	s.free(10, 0)
	for _, want := range []int64{3, 0} {
		if units, err := s.gate.Mend(t.Context(), "sale"); err != nil || units != want {
			t.Fatalf("mended %d units, %v; want %d", units, err, want)
		}
		s.free(10, 0)
	}
	if got := command(t, c, "HGET", to+"control", "free:a"); got != "8" {
		t.Fatalf("the other shard has %s, want 8", got)
	}
	// The same, but they had arrived already.
	command(t, c, "HSET", from+"moves:1", "out:lost", fmt.Sprint("a 3 1 ", at))
	s.free(10, 0)
	if _, err := s.gate.Mend(t.Context(), "sale"); err != nil {
		t.Fatal(err)
	}
	s.free(10, 0)
	s.want(rushgate.Granted, s.asks(10))
	s.want(rushgate.SoldOut, s.asks(3))
}

func TestReplicatedWaitsForAReplica(t *testing.T) {
	master := testenv.Redis(t)
	replica := testenv.RedisReplica(t, master)
	opts := fresh()
	opts.ReplicaTimeout = 20 * time.Millisecond
	s := newShop(t, master.URL(), opts, 2)
	s.sale.Ack = rushgate.Replicated
	s.load(rushgate.MaxStock) // nobody knows how often it has to be tried
	early := func() bool {
		out := make([]rushgate.Decision, 4)
		if err := s.gate.Claim(t.Context(), time.Now(), s.asks(4), out); err != nil {
			t.Fatal(err)
		}
		for _, d := range out {
			if d.Code != rushgate.Granted {
				t.Fatalf("got %+v", d)
			}
			if !d.Early {
				return false
			}
		}
		return true
	}
	soon(t, "the replica has it", early)
	if err := replica.Pause(); err != nil {
		t.Fatal(err)
	}
	if early() || s.count(redis.NotCopied) == 0 {
		t.Fatal("acknowledged early without a replica")
	}
	if err := replica.Resume(); err != nil {
		t.Fatal(err)
	}
	soon(t, "the replica has it again", early)
}

// soon waits until something is true.
func soon(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for !is() {
		select {
		case <-deadline.Done():
			t.Fatalf("%s: not soon", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
