package limit

import (
	"context"
	"hash/maphash"
	"slices"
)

// MemoryJoint is a Joint in this process's memory.
type MemoryJoint struct {
	rules  []Rule
	tables []*Memory
}

// NewMemoryJoint makes a MemoryJoint. The options hold for each rule: each
// remembers up to MaxKeys keys of its own.
func NewMemoryJoint(rules []Rule, options MemoryOptions) (*MemoryJoint, error) {
	if err := ValidateRules(rules); err != nil {
		return nil, err
	}
	j := &MemoryJoint{rules: slices.Clone(rules)}
	clock := newClock(options.Clock) // one for all: their decisions have one time
	for _, r := range rules {
		m, err := newMemory(r.Policy, options, clock)
		if err != nil {
			return nil, err
		}
		j.tables = append(j.tables, m)
	}
	return j, nil
}

// Rules returns the rules.
func (j *MemoryJoint) Rules() []Rule { return slices.Clone(j.rules) }

// Limiter returns one rule by itself. What it takes counts in the Joint too.
func (j *MemoryJoint) Limiter(rule int) *Memory { return j.tables[rule] }

// Take asks every rule: see Joint.
func (j *MemoryJoint) Take(_ context.Context, asks []Ask) (Verdict, error) {
	return j.decide(asks, take)
}

// Peek answers what Take would: see Joint.
func (j *MemoryJoint) Peek(_ context.Context, asks []Ask) (Verdict, error) {
	return j.decide(asks, look)
}

func (j *MemoryJoint) decide(asks []Ask, what mode) (Verdict, error) {
	if err := CheckAsks(j.rules, asks); err != nil {
		return Verdict{}, err
	}
	parts := j.lock(asks)
	defer unlock(parts)
	now, results := int64(0), make([]Result, len(asks))
	for i, s := range parts {
		results[i].Granted = true
		if s.shard == nil {
			continue
		}
		if now == 0 {
			now = s.clock.now()
		}
		granted, after, err := s.decideLocked(s.hash, asks[i].Key, now, asks[i].N, look)
		if err != nil {
			return Verdict{}, err
		}
		results[i] = s.policy.Answer(granted, now, asks[i].N, after)
	}
	v := verdict(results)
	if !v.Granted || what == look {
		return v, nil
	}
	if err := j.commit(parts, asks, now, results); err != nil {
		return Verdict{}, err
	}
	return v, nil
}

// commit takes what every rule has granted. One that has no room for a new key
// must say so before another has taken.
func (j *MemoryJoint) commit(parts []part, asks []Ask, now int64, results []Result) error {
	for i, s := range parts {
		if s.shard == nil || asks[i].N == 0 {
			continue
		}
		if s.find(s.hash, asks[i].Key) < 0 {
			if err := s.makeRoom(now); err != nil {
				return err
			}
		}
	}
	for i, s := range parts {
		if s.shard == nil {
			continue
		}
		_, after, err := s.decideLocked(s.hash, asks[i].Key, now, asks[i].N, take)
		if err != nil {
			return err // cannot be: there is room
		}
		results[i] = s.policy.Taken(now, asks[i].N, after)
	}
	return nil
}

// GiveBack undoes a Take: see Joint.
func (j *MemoryJoint) GiveBack(_ context.Context, asks []Ask, taken Verdict) error {
	if err := CheckJointGiveBack(j.rules, asks, taken); err != nil {
		return err
	}
	parts := j.lock(asks)
	defer unlock(parts)
	for i, s := range parts {
		if s.shard != nil {
			s.giveBack(s.hash, asks[i].Key, s.clock.now(), asks[i].N, taken.Results[i].receipt)
		}
	}
	return nil
}

// part is the shard of a key, locked. A rule that is left out has none.
type part struct {
	*shard
	hash uint64 // of the key
}

// lock locks the shards of all keys, in the order of the rules, which is the
// same for everybody.
func (j *MemoryJoint) lock(asks []Ask) []part {
	parts := make([]part, len(asks))
	for i, a := range asks {
		if a.Key != "" {
			m := j.tables[i]
			hash := maphash.String(m.seed, a.Key)
			parts[i] = part{m.shard(hash), hash}
			parts[i].mu.Lock()
		}
	}
	return parts
}

func unlock(parts []part) {
	for _, s := range parts {
		if s.shard != nil {
			s.mu.Unlock()
		}
	}
}
