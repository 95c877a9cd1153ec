package clustertest

import (
	"fmt"
	"sync"
	"testing"

	"rushgate/client"
)

// journal is what buyers know: what they were told, and what they asked and
// got no answer to. It lives outside the cluster and survives everything.
type journal struct {
	t     *testing.T
	early bool // people are told before their claims are recorded: these may be revoked

	revoked int // claims that were, as the final check found

	mu      sync.Mutex
	claims  map[string]*known   // by id
	holders map[string]string   // user → the id of the claim they were told of
	refused map[string]bool     // users whose last word is that it is sold out
	answers map[client.Code]int // what was said how often; "" is a claim
	firsts  int                 // claims that were acknowledged
	heard   chan struct{}       // somebody was told of a new claim
}

// known is a claim that somebody was told of.
type known struct {
	client.Claim        // as the last answer had it
	asked        string // a state that was asked for and not answered, or empty
}

func newJournal(t *testing.T) *journal {
	return &journal{t: t, claims: map[string]*known{}, holders: map[string]string{}, refused: map[string]bool{},
		answers: map[client.Code]int{}, heard: make(chan struct{}, 1)}
}

// acknowledge remembers what somebody was told.
func (j *journal) acknowledge(c *client.Claim) {
	j.mu.Lock()
	defer j.mu.Unlock()
	k := j.claims[c.ID]
	if k == nil {
		k = &known{}
		j.claims[c.ID] = k
		j.firsts++
		if other := j.holders[c.User]; other != "" {
			j.t.Errorf("%s was told of claim %s, and now of claim %s", c.User, other, c.ID)
		}
		j.holders[c.User] = c.ID
		select {
		case j.heard <- struct{}{}:
		default:
		}
	}
	if k.User != "" && (k.User != c.User || k.Item != c.Item || k.Quantity != c.Quantity) {
		j.t.Errorf("claim %s was of %s, and is of %s", c.ID, k.User, c.User)
	}
	k.Claim, k.asked = *c, ""
}

// unmoved remembers that a state was asked for, and that there was no answer.
func (j *journal) unmoved(id, to string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.claims[id].asked = to
}

// refuse remembers who was told that it is sold out.
func (j *journal) refuse(user string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.refused[user] = true
}

// count remembers how often something was said.
func (j *journal) count(code client.Code) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.answers[code]++
}

// acknowledged is how many claims somebody was told of.
func (j *journal) acknowledged() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.firsts
}

// String is a line about the whole sale.
func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return fmt.Sprintf("%d claims acknowledged; answers: %v", j.firsts, j.answers)
}

// agree says how what is there differs from what was told, or nothing.
func (k *known) agree(user, item, state string) string {
	if user != k.User || item != k.Item {
		return fmt.Sprintf("was told to be %s of %s, and is %s of %s", k.Item, k.User, item, user)
	}
	if state != k.State && (k.asked == "" || state != k.asked) {
		return fmt.Sprintf("was told to be %s (asked for: %q), and is %s", k.State, k.asked, state)
	}
	return ""
}

// said is how often something was.
func (j *journal) said(code client.Code) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.answers[code]
}

// each looks at every claim that somebody was told of.
func (j *journal) each(look func(*known)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, k := range j.claims {
		look(k)
	}
}
