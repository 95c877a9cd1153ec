package ledgertest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rushgate"
)

// leaseModel is the plainest set of leases there is. A lease is held, or over;
// the suite waits for the ends that it causes.
type leaseModel struct {
	d     *desk
	held  map[string]rushgate.Lease // those that are not over
	terms map[string]int64
	known []rushgate.Lease // that somebody ever got
	sale  string
}

func leasesAgainstModel(t *testing.T, s SharedStorage) {
	d := node(t, s, 0)
	sale := d.sell(0, item("a", 1))
	round := rune('a')
	rapid.Check(t, func(rt *rapid.T) {
		d.t = rt
		defer func() { d.t = t }()
		m := &leaseModel{d: d, held: map[string]rushgate.Lease{}, terms: map[string]int64{}, sale: sale.ID}
		prefix := string(round) + "/" // each story has names of its own
		round++
		rt.Repeat(map[string]func(*rapid.T){
			"acquire": func(rt *rapid.T) { m.acquire(rt, prefix, long) },
			"brief":   func(rt *rapid.T) { m.acquire(rt, prefix, brief) },
			"release": m.release,
			"write":   m.write,
			"look":    func(rt *rapid.T) { m.agrees(rt, prefix) },
		})
		m.agrees(rt, prefix)
	})
}

func (m *leaseModel) acquire(rt *rapid.T, prefix string, ttl time.Duration) {
	want := rushgate.Lease{Name: prefix + rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "name"),
		Holder: rapid.SampledFrom([]string{"ann", "bob", "Ann"}).Draw(rt, "holder"), Note: rapid.SampledFrom([]string{"", "n1", "n2"}).Draw(rt, "note")}
	had, taken := m.held[want.Name]
	mine := !taken || had.Holder == want.Holder
	got := m.d.acquire(want, ttl, mine)
	if !mine {
		want = had
	} else if !taken {
		m.terms[want.Name]++
	}
	want.Term, want.Left = m.terms[want.Name], got.Left
	same(rt, "acquired", got, want)
	if got.Left <= 0 && (ttl == long || !mine) || got.Left > long {
		rt.Fatalf("%s are left", got.Left)
	}
	switch {
	case !mine:
		return
	case ttl == long:
		m.held[want.Name] = want
	default:
		m.d.awaitEnd(want.Name)
		delete(m.held, want.Name)
	}
	m.known = append(m.known, want)
}

func (m *leaseModel) any(rt *rapid.T) rushgate.Lease {
	if len(m.known) == 0 {
		rt.Skip("nobody has had a lease yet")
	}
	return rapid.SampledFrom(m.known).Draw(rt, "lease")
}

func (m *leaseModel) release(rt *rapid.T) {
	l := m.any(rt)
	m.d.release(l)
	// A lease that is over and that nobody has taken can be given back too;
	// then its holder writes no more.
	m.known = slices.DeleteFunc(m.known, func(k rushgate.Lease) bool {
		return k.Name == l.Name && k.Term == l.Term && l.Term == m.terms[l.Name]
	})
	if l.Term == m.terms[l.Name] {
		delete(m.held, l.Name)
		l.Holder = "gone " + l.Holder
		m.known = append(m.known, l) // who can write nothing
	}
}

// write writes under any lease that there ever was: it goes well for the latest
// term alone.
func (m *leaseModel) write(rt *rapid.T) {
	l := m.any(rt)
	_, _, err := leasesOf(m.d).Under(l).Fence(context.Background(), m.sale, 0)
	if l.Term == m.terms[l.Name] && !strings.HasPrefix(l.Holder, "gone ") {
		if err != nil {
			rt.Fatalf("under the latest term: %v", err)
		}
		return
	}
	stopped(rt, err, rushgate.BarrierLease)
}

func (m *leaseModel) agrees(rt *rapid.T, prefix string) {
	got, err := leasesOf(m.d).Held(context.Background(), prefix)
	if err != nil {
		rt.Fatalf("held: %v", err)
	}
	want := []rushgate.Lease{}
	for _, l := range m.held {
		want = append(want, l)
	}
	slices.SortFunc(want, func(a, b rushgate.Lease) int { return strings.Compare(a.Name, b.Name) })
	for i := range got {
		if got[i].Left <= 0 || got[i].Left > long {
			rt.Fatalf("%+v", got[i])
		}
		if i < len(want) {
			want[i].Left = got[i].Left
		}
	}
	same(rt, "held", append([]rushgate.Lease{}, got...), want)
}
