package ledgertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"rushgate"
)

// Bench measures a ledger: batches of several sizes, by users that come in
// order and by users that come from everywhere, and the read of a large sale.
func Bench(b *testing.B, f Factory) {
	for _, size := range []int{64, 256, 1000} {
		for _, random := range []bool{false, true} {
			users := "sequential"
			if random {
				users = "random"
			}
			b.Run(fmt.Sprintf("Record/%s/%d", users, size), func(b *testing.B) { benchRecord(b, f, size, random) })
		}
	}
	b.Run("Snapshot", func(b *testing.B) { benchSnapshot(b, f) })
}

// crowd makes grants of one endless sale.
type crowd struct {
	d      *desk
	s      *rushgate.Sale
	random bool
	chance *rand.Rand
	n      int
}

func newCrowd(b *testing.B, f Factory, random bool) *crowd {
	d := open(b, f)
	return &crowd{d: d, s: d.sell(1, item("black-128", rushgate.MaxStock)), random: random, chance: rand.New(rand.NewPCG(1, 2))}
}

func (c *crowd) next(size int) *rushgate.Batch {
	claims := make([]rushgate.Claim, size)
	for i := range claims {
		c.n++
		user := fmt.Sprintf("u%016d", c.n)
		if c.random {
			user = fmt.Sprintf("u%016d", c.chance.Uint64()>>12)
		}
		claims[i] = c.d.claim(c.s, "black-128", user)
	}
	return c.d.batch(start, grant(c.s, claims...))
}

func (c *crowd) record(b *testing.B, batch *rushgate.Batch) {
	if err := c.d.Record(context.Background(), batch); err != nil {
		b.Fatal(err)
	}
}

// benchRecord measures on top of 100,000 claims, and reports claims per second.
func benchRecord(b *testing.B, f Factory, size int, random bool) {
	c := newCrowd(b, f, random)
	for range 100 {
		c.record(b, c.next(1000))
	}
	b.ResetTimer()
	var used, longest time.Duration
	for range b.N {
		b.StopTimer()
		batch := c.next(size)
		used -= cpu(b)
		b.StartTimer()
		began := time.Now()
		c.record(b, batch)
		longest = max(longest, time.Since(began))
		b.StopTimer()
		used += cpu(b)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "claims/s")
	b.ReportMetric(float64(used.Nanoseconds())/float64(b.N*size), "cpu-ns/claim")
	b.ReportMetric(float64(longest.Microseconds())/1000, "longest-ms")
}

// cpu is the time that the process has spent on processors: on a shared
// machine it is a steadier measure than the time on the wall.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// benchSnapshot reads a sale of a million claims, as a gate does after a restart.
func benchSnapshot(b *testing.B, f Factory) {
	const million = 1_000_000
	c := newCrowd(b, f, true)
	for range million / 1000 {
		c.record(b, c.next(1000))
	}
	c.d.reopen()
	b.ResetTimer()
	for range b.N {
		n := 0
		err := c.d.Snapshot(context.Background(), c.s.ID, func(s rushgate.Snapshot) error {
			for _, err := range s.Claims {
				if err != nil {
					return err
				}
				n++
			}
			return nil
		})
		if err != nil || n != million {
			b.Fatalf("%d claims, %v", n, err)
		}
	}
	b.ReportMetric(float64(b.N*million)/b.Elapsed().Seconds(), "claims/s")
}
