package crashtest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"rushgate/client"
)

// journal is what the buyers know: what they were told, and what they asked
// and got no answer to. It lives outside the server and survives every kill.
type journal struct {
	random *rand.Rand
	stock  int64 // units of the main sale
	bursts int

	mu     sync.Mutex
	claims map[string]*known // by id
	open   []*question       // answers that got lost in the last burst
	fresh  []*known          // touched in the last burst

	openPlain []client.Ask // lost answers to claims without a key

	lost int
	// recovered counts lost answers whose claim turned out to be recorded.
	recovered int
	users     int
}

// known is a claim that somebody was told of.
type known struct {
	client.Claim        // as the last answer had it
	key          string // idempotency key, if any
	asked        string // a state that was asked for and not answered, or empty
	busy         bool   // a worker is moving it
}

// question is a claim whose answer got lost.
type question struct {
	sale string
	ask  client.Ask
}

func newJournal(random *rand.Rand, stock int64) *journal {
	return &journal{random: random, stock: stock, claims: map[string]*known{}}
}

// acknowledge remembers what somebody was told.
func (j *journal) acknowledge(c *client.Claim, key string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	k := j.claims[c.ID]
	if k == nil {
		k = &known{}
		j.claims[c.ID] = k
	}
	k.Claim, k.asked, k.busy = *c, "", false
	if key != "" {
		k.key = key
	}
	j.fresh = append(j.fresh, k)
}

// unanswered remembers a claim without an answer.
func (j *journal) unanswered(sale string, asks ...client.Ask) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, a := range asks {
		j.open = append(j.open, &question{sale, a})
	}
	j.lost += len(asks)
}

// unmoved remembers a confirmation or release without an answer.
func (j *journal) unmoved(k *known, to string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	k.asked, k.busy = to, false
	j.fresh = append(j.fresh, k)
	j.lost++
}

// user returns a name that nobody had before.
func (j *journal) user() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.users++
	return fmt.Sprintf("u%d", j.users)
}

// some returns a claim of the last burst that is held and nobody moves, and
// marks it as being moved, or nil.
func (j *journal) some(state string, r *rand.Rand) *known {
	j.mu.Lock()
	defer j.mu.Unlock()
	for range 5 {
		if len(j.fresh) == 0 {
			return nil
		}
		k := j.fresh[r.IntN(len(j.fresh))]
		if k.Sale == mainSale && k.State == state && k.asked == "" && !k.busy {
			k.busy = true
			return k
		}
	}
	return nil
}

func (j *journal) letGo(k *known) {
	j.mu.Lock()
	defer j.mu.Unlock()
	k.busy = false
}

// agree says whether what is there fits what was told.
func (k *known) agree(t *testing.T, user, item, state string) {
	t.Helper()
	if user != k.User || item != k.Item {
		t.Errorf("claim %s was told to be %s of %s, and is %s of %s", k.ID, k.Item, k.User, item, user)
	}
	switch {
	case state == k.State, k.asked != "" && state == k.asked:
	case k.Sale == shortSale && k.State == "held" && state == "expired":
	default:
		t.Errorf("claim %s was told to be %s (asked for: %q), and is %s", k.ID, k.State, k.asked, state)
	}
}
