package crashtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"rushgate/client"
	"rushgate/internal/binary"
)

const workers = 12

// burst is people who hurry until the server dies under them. It dies when a
// number of answers that was drawn beforehand has arrived.
func (j *journal) burst(t *testing.T, s *binary.Server) {
	t.Helper()
	j.bursts++
	b := &burst{journal: j, t: t, client: newClient(t, s), url: s.URL, die: s.Kill, after: 1 + j.random.Int64N(400)}
	defer b.client.Close()
	j.fresh = nil
	var wg sync.WaitGroup
	for range workers {
		random := rand.New(rand.NewPCG(j.random.Uint64(), 2))
		wg.Go(func() {
			for b.act(t.Context(), random) {
				if b.answers.Add(1) == b.after {
					b.die()
				}
			}
		})
	}
	wg.Wait()
}

type burst struct {
	*journal
	t       *testing.T
	client  *client.Client
	url     string
	die     func()
	after   int64
	answers atomic.Int64
}

// act does one thing that a person may do, and says whether there was an answer.
func (b *burst) act(ctx context.Context, r *rand.Rand) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch n := r.IntN(100); {
	case n < 15:
		return b.plain(ctx, item(r))
	case n < 40:
		return b.claim(ctx, mainSale, client.Ask{User: b.user(), Item: item(r), Key: fmt.Sprintf("key-%d", r.Uint64())})
	case n < 50:
		return b.again(ctx, r)
	case n < 60:
		return b.twice(ctx, r)
	case n < 75:
		return b.move(ctx, r, "confirmed")
	case n < 85:
		return b.move(ctx, r, "released")
	case n < 90:
		return b.claim(ctx, shortSale, client.Ask{User: b.user(), Key: fmt.Sprintf("key-%d", r.Uint64())})
	}
	return b.batch(ctx, r)
}

func item(r *rand.Rand) string {
	if r.IntN(3) == 0 {
		return "b"
	}
	return "a"
}

// claim asks once and remembers the answer, or that there was none.
func (b *burst) claim(ctx context.Context, sale string, a client.Ask) bool {
	claim, err := b.client.Claim(ctx, sale, a)
	switch {
	case err == nil:
		b.acknowledge(claim, a.Key)
		return true
	case gone(err):
		b.unanswered(sale, a)
		return false
	case client.CodeOf(err) != client.SoldOut || sale == mainSale:
		b.t.Errorf("%s claims: %v", a.User, err)
	}
	return true
}

// gone says that nobody knows what the server did.
func gone(err error) bool { return client.CodeOf(err) == client.Unreachable }

// again repeats a request that was answered: the same key, the same claim.
func (b *burst) again(ctx context.Context, r *rand.Rand) bool {
	k := b.some("held", r)
	if k == nil {
		return true
	}
	defer b.letGo(k)
	if k.key == "" {
		return true
	}
	claim, err := b.client.Claim(ctx, k.Sale, client.Ask{User: k.User, Item: k.Item, Key: k.key})
	switch {
	case gone(err):
		return false
	case err != nil || claim.ID != k.ID || !claim.Replayed:
		b.t.Errorf("the key of claim %s answers %+v, %v", k.ID, claim, err)
	}
	return true
}

// twice is one person who asks twice at the same moment, with different keys:
// at most one claim, and the refusal names it.
func (b *burst) twice(ctx context.Context, r *rand.Rand) bool {
	asks := [2]client.Ask{{User: b.user(), Item: item(r), Key: fmt.Sprintf("left-%d", r.Uint64())}}
	asks[1] = client.Ask{User: asks[0].User, Item: item(r), Key: fmt.Sprintf("right-%d", r.Uint64())}
	var claims [2]*client.Claim
	var errs [2]error
	var wg sync.WaitGroup
	for i := range asks {
		wg.Go(func() { claims[i], errs[i] = b.client.Claim(ctx, mainSale, asks[i]) })
	}
	wg.Wait()
	if errs[0] == nil && errs[1] == nil {
		b.t.Errorf("%s has two claims: %s and %s", asks[0].User, claims[0].ID, claims[1].ID)
	}
	answered := true
	for i, err := range errs {
		switch {
		case err == nil:
			b.acknowledge(claims[i], asks[i].Key)
		case gone(err):
			answered = false
			if errs[1-i] != nil { // otherwise the limit decides, and the answer is known
				b.unanswered(mainSale, asks[i])
			}
		default:
			b.refusedTwin(err, claims[1-i], errs[1-i])
		}
	}
	return answered
}

// refusedTwin checks the refusal of the second of two.
func (b *burst) refusedTwin(err error, other *client.Claim, otherErr error) {
	e := err.(*client.Error)
	switch {
	case e.Code != client.LimitReached || len(e.Claims) != 1:
		b.t.Errorf("the second of two got %v %v", err, e.Claims)
	case other != nil && !slices.Contains(e.Claims, other.ID):
		b.t.Errorf("the second of two was told of %v, and the first has %s", e.Claims, other.ID)
	case other == nil && !gone(otherErr):
		b.t.Errorf("both were refused: %v, %v", err, otherErr)
	}
}

// move confirms or releases a claim that is held.
func (b *burst) move(ctx context.Context, r *rand.Rand, to string) bool {
	k := b.some("held", r)
	if k == nil {
		return true
	}
	do := b.client.Confirm
	if to == "released" {
		do = b.client.Release
	}
	claim, err := do(ctx, k.ID)
	switch {
	case gone(err):
		b.unmoved(k, to)
		return false
	case err != nil:
		b.letGo(k)
		b.t.Errorf("claim %s to %s: %v", k.ID, to, err)
	case claim.State != to:
		b.letGo(k)
		b.t.Errorf("claim %s was to be %s and is %s", k.ID, to, claim.State)
	default:
		b.acknowledge(claim, "")
	}
	return true
}

// batch is a shop's server that asks for several people at once.
func (b *burst) batch(ctx context.Context, r *rand.Rand) bool {
	asks := make([]client.Ask, 1+r.IntN(10))
	for i := range asks {
		asks[i] = client.Ask{User: b.user(), Item: item(r), Key: fmt.Sprintf("batch-%d", r.Uint64())}
	}
	results, err := b.client.ClaimBatch(ctx, mainSale, asks)
	if gone(err) {
		b.unanswered(mainSale, asks...)
		return false
	}
	if err != nil {
		b.t.Errorf("batch: %v", err)
		return true
	}
	for i, res := range results {
		if res.Err != nil {
			b.t.Errorf("claim %d of a batch: %v", i, res.Err)
			continue
		}
		b.acknowledge(res.Claim, asks[i].Key)
	}
	return true
}
