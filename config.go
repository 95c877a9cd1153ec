package rushgate

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"sync"
	"time"
)

// complete fills in the defaults and refuses what is out of bounds.
func (c *Config) complete() error {
	if c.Gate == nil || c.Ledger == nil {
		return invalid("config", "a service needs a Gate and a Ledger")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Observe == nil {
		c.Observe = Unobserved{}
	}
	if c.Random == nil {
		c.Random = seededRandom()
	}
	c.QueueLimit = orDefault(c.QueueLimit, 16384)
	c.BatchLimit = orDefault(c.BatchLimit, 2048)
	c.SweepEvery = orDefault(c.SweepEvery, 250*time.Millisecond)
	c.AuditEvery = orDefault(c.AuditEvery, time.Minute)
	c.FollowEvery = orDefault(c.FollowEvery, 500*time.Millisecond)
	c.AdoptAfter = orDefault(c.AdoptAfter, 5*time.Second)
	if c.Chores == nil {
		c.Chores = func() bool { return true }
	}
	switch {
	case c.Node < 0 || c.Node > MaxNode:
		return fmt.Errorf("node %d: must be 0 to %d", c.Node, MaxNode)
	case c.FollowEvery < time.Millisecond || c.AdoptAfter < time.Millisecond:
		return fmt.Errorf("follow every %s, adopt after %s: must be at least 1ms", c.FollowEvery, c.AdoptAfter)
	case c.BatchLimit < MaxBatch || c.BatchLimit > 1<<16:
		return fmt.Errorf("batch limit %d: must be %d to %d claims", c.BatchLimit, MaxBatch, 1<<16)
	case c.QueueLimit < c.BatchLimit || c.QueueLimit > 1<<24:
		return fmt.Errorf("queue limit %d: must be the batch limit (%d) to %d claims", c.QueueLimit, c.BatchLimit, 1<<24)
	case c.SweepEvery < time.Millisecond || c.AuditEvery < time.Millisecond:
		return fmt.Errorf("sweep every %s, audit every %s: must be at least 1ms", c.SweepEvery, c.AuditEvery)
	}
	return nil
}

func orDefault[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// seededRandom returns a generator that is safe for concurrent use and whose
// seed nobody knows.
func seededRandom() func() uint64 {
	var seed [32]byte
	rand.Read(seed[:]) // never fails: crypto/rand ends the program instead
	src := mathrand.NewChaCha8(seed)
	var mu sync.Mutex
	return func() uint64 {
		mu.Lock()
		defer mu.Unlock()
		return src.Uint64()
	}
}

// Observer is told what happens, for metrics. Its methods are called from the
// hot path: they must be quick, must not block, and may be called from several
// goroutines.
type Observer interface {
	// Decided tells that n claims had this outcome.
	Decided(code Code, n int)
	// Served tells of one batch that the desk took through gate and ledger.
	Served(b BatchStats)
	// Swept tells that n claims expired.
	Swept(n int)
	// Audited tells the result of an audit.
	Audited(r *Report)
	// Mended tells that a shared gate's picture of a sale was built anew.
	Mended(sale string)
	// Adopted tells that n claims were recorded for a node that did not.
	Adopted(n int)
	// Revoked tells that n acknowledged claims were lost by the gate.
	Revoked(n int)
}

// BatchStats measures one batch.
type BatchStats struct {
	Tickets int // requests of all kinds
	Asks    int // claims asked for
	Granted int
	Deciding,
	Recording time.Duration
}

// Unobserved is the Observer that looks away.
type Unobserved struct{}

// Decided does nothing.
func (Unobserved) Decided(Code, int) {}

// Served does nothing.
func (Unobserved) Served(BatchStats) {}

// Swept does nothing.
func (Unobserved) Swept(int) {}

// Audited does nothing.
func (Unobserved) Audited(*Report) {}

// Mended does nothing.
func (Unobserved) Mended(string) {}

// Adopted does nothing.
func (Unobserved) Adopted(int) {}

// Revoked does nothing.
func (Unobserved) Revoked(int) {}
