package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"rushgate/once"
)

// Begin implements once.Store.
func (s *Store) Begin(ctx context.Context, c once.Claim) (once.State, error) {
	print, waits := c.Fingerprint, "0"
	if print == "" {
		print = "-"
	}
	if c.Waits {
		waits = "1"
	}
	answer, err := s.run(ctx, s.scripts.begin, []string{s.record(c.Key)},
		[]string{c.Owner, millis(c.Lease), millis(once.Idle), print, waits}).ToString()
	if err != nil {
		return once.State{}, fmt.Errorf("once: begin: %w", err)
	}
	return begun(answer, print)
}

// begun reads an answer of begin.lua.
func begun(answer, print string) (s once.State, err error) {
	if strings.HasPrefix(answer, "d ") || strings.HasPrefix(answer, "f ") {
		r, err := decode(answer, time.Time{})
		if err == nil && r.fingerprint != print {
			return once.State{Phase: once.Reused, Token: r.Token, Number: r.Number}, nil
		}
		return r.State, err
	}
	fields := strings.Fields(answer)
	phases := map[string]once.Phase{"m": once.Mine, "b": once.Busy, "u": once.Reused}
	if len(fields) < 3 || phases[fields[0]] == once.Free || fields[0] == "b" && len(fields) < 4 {
		return s, fmt.Errorf("once: begin: a script answers %q", answer)
	}
	var errs [3]error
	s.Phase = phases[fields[0]]
	s.Token, errs[0] = strconv.ParseInt(fields[1], 10, 64)
	s.Number, errs[1] = strconv.Atoi(fields[2])
	if s.Phase == once.Busy {
		var left int64
		left, errs[2] = strconv.ParseInt(fields[3], 10, 64)
		s.Left = time.Duration(left) * time.Millisecond
	}
	return s, errors.Join(errs[:]...)
}

// Renew implements once.Store.
func (s *Store) Renew(ctx context.Context, key, owner string, lease time.Duration) (bool, error) {
	return yes("renew", s.run(ctx, s.scripts.renew, []string{s.record(key)}, []string{owner, millis(lease), millis(once.Idle)}))
}

// End implements once.Store.
func (s *Store) End(ctx context.Context, key, owner string, o once.Outcome) (bool, error) {
	phase, keep := "-", millis(once.Idle)
	if o.Phase != once.Free {
		phase, keep = map[once.Phase]string{once.Done: "d", once.Failed: "f"}[o.Phase], millis(o.Keep)
	}
	return yes("end", s.run(ctx, s.scripts.end, []string{s.record(key)},
		[]string{owner, phase, keep, rueidis.BinaryString(o.Value), s.channel(), key}))
}

// Look implements once.Store. The clock and the record are read one after the
// other, so Left may be a little short.
func (s *Store) Look(ctx context.Context, key string) (once.State, error) {
	record, err := s.client.Do(ctx, s.client.B().Get().Key(s.record(key)).Build()).ToString()
	if rueidis.IsRedisNil(err) {
		return once.State{}, nil
	}
	if err != nil {
		return once.State{}, fmt.Errorf("once: look: %w", err)
	}
	if record[:min(1, len(record))] != "r" {
		r, err := decode(record, time.Time{})
		return r.State, err
	}
	now, err := s.clock(ctx)
	if err != nil {
		return once.State{}, err
	}
	r, err := decode(record, now)
	return r.State, err
}

// clock reads Redis' clock: of one node of a cluster, where that suffices.
func (s *Store) clock(ctx context.Context) (time.Time, error) {
	t, err := s.client.Do(ctx, s.client.B().Time().Build()).AsIntSlice()
	if err != nil || len(t) != 2 {
		return time.Time{}, fmt.Errorf("once: Redis' clock: %w", err)
	}
	return time.Unix(t[0], t[1]*1000), nil
}

// Forget implements once.Store.
func (s *Store) Forget(ctx context.Context, key string) (bool, error) {
	return yes("forget", s.run(ctx, s.scripts.forget, []string{s.record(key)}, []string{s.channel(), key}))
}

// Watch implements once.Store.
func (s *Store) Watch(ctx context.Context, key string) (<-chan struct{}, func(), error) {
	ended, stop := s.ends.watch(ctx, key)
	if err := ctx.Err(); err != nil {
		stop()
		return nil, nil, err
	}
	return ended, stop, nil
}

func yes(what string, r rueidis.RedisResult) (bool, error) {
	n, err := r.AsInt64()
	if err != nil {
		return false, fmt.Errorf("once: %s: %w", what, err)
	}
	return n == 1, nil
}

// millis writes a duration for a script: rounded up, and 0 for ever.
func millis(d time.Duration) string {
	if d == once.Forever {
		return "0"
	}
	return strconv.FormatInt(int64((d+time.Millisecond-1)/time.Millisecond), 10)
}
