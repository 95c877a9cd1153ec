package redis

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"

	"rushgate/once"
)

// Apply implements once.ToggleStore.
func (s *Store) Apply(ctx context.Context, set string, i once.Intent) (once.Standing, error) {
	if err := s.checkSet(set); err != nil {
		return once.Standing{}, err
	}
	sign := "-"
	if i.On {
		sign = "+"
	}
	answer, err := s.run(ctx, s.scripts.toggle, []string{s.toggles(set), s.togglesOn(set)},
		[]string{i.Member, sign, strconv.FormatInt(i.Seq, 10)}).ToString()
	if err != nil {
		return once.Standing{}, fmt.Errorf("once: apply: %w", err)
	}
	verdicts := map[byte]once.Verdict{'a': once.Applied, 'c': once.Applied, 'r': once.Repeated, 'l': once.Late, 'x': once.Conflict}
	if answer == "" || verdicts[answer[0]] == once.Unasked {
		return once.Standing{}, fmt.Errorf("once: apply: a script answers %q", answer)
	}
	standing, err := decodeStanding(answer[1:])
	standing.Verdict, standing.Changed = verdicts[answer[0]], answer[0] == 'c'
	return standing, err
}

// Standing implements once.ToggleStore.
func (s *Store) Standing(ctx context.Context, set, member string) (once.Standing, error) {
	if err := s.checkSet(set); err != nil {
		return once.Standing{}, err
	}
	text, err := s.client.Do(ctx, s.client.B().Hget().Key(s.toggles(set)).Field(member).Build()).ToString()
	if rueidis.IsRedisNil(err) {
		return once.Standing{}, nil
	}
	if err != nil {
		return once.Standing{}, fmt.Errorf("once: standing: %w", err)
	}
	return decodeStanding(text)
}

// On implements once.ToggleStore.
func (s *Store) On(ctx context.Context, set string) (int64, error) {
	if err := s.checkSet(set); err != nil {
		return 0, err
	}
	r := s.client.Do(ctx, s.client.B().Get().Key(s.togglesOn(set)).Build())
	if rueidis.IsRedisNil(r.Error()) {
		return 0, nil
	}
	return number("count", r)
}

// decodeStanding reads what the hash has of a member: see toggle.lua.
func decodeStanding(text string) (once.Standing, error) {
	if text != "" && (text[0] == '+' || text[0] == '-') {
		if seq, err := strconv.ParseUint(text[1:], 10, 63); err == nil && seq > 0 {
			return once.Standing{On: text[0] == '+', Seq: int64(seq)}, nil
		}
	}
	return once.Standing{}, fmt.Errorf("once: Redis has a toggle that is none of ours: %q", text[:min(len(text), 80)])
}
