package redis

import (
	"strconv"

	"rushgate/limit"
)

// rule is a rule as the script is told it.
type rule struct {
	limit.Rule
	prefix string   // of its keys
	one    []string // the arguments of n = 1, which nearly all takes have
}

func newRule(r limit.Rule, o *Options) rule {
	own := rule{Rule: r, prefix: o.Prefix}
	if o.Slot != "" {
		own.prefix += "{" + o.Slot + "}:"
	}
	// Under the same name, another kind is another key: it could not read what
	// the first has written. Other numbers of the same kind can.
	own.prefix += r.Name + ":" + string(r.Policy.Kind()) + ":"
	own.one = own.write(1)
	return own
}

// args returns what the script is given: see the file of each kind.
func (r *rule) args(n int64) []string {
	if n == 1 {
		return r.one
	}
	return r.write(n)
}

func (r *rule) write(n int64) []string {
	p := r.Policy
	switch p.Kind() {
	case limit.KindGCRA:
		us, frac, a := p.Cost(n)
		fullUs, fullFrac, _ := p.Cost(p.Limit())
		return numbers(us, frac, fullUs, fullFrac, a)
	case limit.KindLog:
		return numbers(n, p.Limit(), p.Window().Microseconds(), p.Grain().Microseconds())
	}
	return numbers(n, p.Limit(), p.Window().Microseconds())
}

// key returns the key in Redis.
func (r *rule) key(key string) string { return r.prefix + key }

// letters are the kinds of rules, a letter each.
func letters(rules []rule) string {
	kinds := make([]byte, len(rules))
	for i := range rules {
		kinds[i] = byte(rules[i].Policy.Kind())
	}
	return string(kinds)
}

func numbers(list ...int64) []string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = strconv.FormatInt(n, 10)
	}
	return out
}
