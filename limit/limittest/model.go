package limittest

import (
	"math/big"

	"rushgate/limit"
)

// grant is units that were taken at a time.
type grant struct{ at, units int64 }

// oracle is the model: it knows every grant of a key, and nothing else. It
// decides straight from the sentence that defines a policy, and finds everything
// else by trial. It is slow, and has nothing in common with the code under test.
type oracle struct {
	policy limit.Policy
	grants []grant
}

// allows says whether n more units at a time keep within the policy.
func (o *oracle) allows(at, n int64) bool {
	if n > o.policy.Limit() {
		return false
	}
	switch o.policy.Kind() {
	case limit.KindGCRA:
		return o.bucketAllows(at, n)
	case limit.KindFixed:
		begin, used := int64(-1), int64(0)
		for _, g := range append(o.grants, grant{at, 0}) {
			if begin < 0 || g.at >= begin+o.width() {
				begin, used = g.at, 0
			}
			used += g.units
		}
		return used+n <= o.policy.Limit()
	case limit.KindAligned:
		return o.inWindow(at/o.width())+n <= o.policy.Limit()
	case limit.KindCounter:
		return o.counterAllows(at, n)
	}
	return o.logAllows(at, n)
}

func (o *oracle) width() int64 { return o.policy.Window().Microseconds() }

// bucketAllows: in no time t more than burst + rate·t.
func (o *oracle) bucketAllows(at, n int64) bool {
	return withinBucket(o.policy, append(o.grants[:len(o.grants):len(o.grants)], grant{at, n}))
}

// withinBucket says that the grants which end with the last one keep within
// burst + rate·t.
func withinBucket(p limit.Policy, grants []grant) bool {
	last, sum := grants[len(grants)-1].at, int64(0)
	rate, per := big.NewInt(p.Rate().Units), big.NewInt(int64(p.Rate().Per))
	for i := len(grants) - 1; i >= 0; i-- {
		sum += grants[i].units
		over := new(big.Int).Mul(big.NewInt(sum-p.Limit()), per)
		refilled := new(big.Int).Mul(big.NewInt((last-grants[i].at)*1000), rate)
		if over.Cmp(refilled) > 0 {
			return false
		}
	}
	return true
}

// inWindow returns what was granted in one window of the calendar.
func (o *oracle) inWindow(number int64) (used int64) {
	for _, g := range o.grants {
		if g.at/o.width() == number {
			used += g.units
		}
	}
	return used
}

// counterAllows: this window, and the share of the last one that is still covered.
func (o *oracle) counterAllows(at, n int64) bool {
	this, last := o.inWindow(at/o.width()), o.inWindow(at/o.width()-1)
	covered := new(big.Int).Mul(big.NewInt(last), big.NewInt(o.width()-at%o.width()))
	room := new(big.Int).Mul(big.NewInt(o.policy.Limit()-this-n), big.NewInt(o.width()))
	return covered.Cmp(room) <= 0
}

// logAllows: no more than n in the window that ends now, where grants of one
// grain count from the latest of them.
func (o *oracle) logAllows(at, n int64) bool {
	grain, latest := o.policy.Grain().Microseconds(), map[int64]int64{}
	for _, g := range o.grants {
		latest[g.at/grain] = max(latest[g.at/grain], g.at)
	}
	for _, g := range o.grants {
		if latest[g.at/grain] > at-o.width() {
			n += g.units
		}
	}
	return n <= o.policy.Limit()
}

// expect returns what a store must answer to a take, or to a peek that leaves
// everything as it is. The receipt is not compared.
func (o *oracle) expect(at, n int64, taken bool) limit.Result {
	r := limit.Result{Granted: n == 0 || o.allows(at, n), Limit: o.policy.Limit()}
	after := *o
	if r.Granted && taken && n > 0 {
		after.grants = append(o.grants[:len(o.grants):len(o.grants)], grant{at, n})
	} else if !r.Granted {
		r.RetryAfter = wait(o.longest(), func(d int64) bool { return o.allows(at+d, n) })
	}
	r.Remaining = most(o.policy.Limit(), func(n int64) bool { return after.allows(at, n) })
	r.Reset = wait(o.longest(), func(d int64) bool { return after.allows(at+d, o.policy.Limit()) })
	return r
}

// longest is longer than any wait.
func (o *oracle) longest() int64 { return 2*o.width() + 2 }
