package oncesql

import (
	"context"
	"database/sql"
	"errors"

	"rushgate/once"
)

// Apply implements once.ToggleStore. It reads, judges, and writes if nobody has
// written meanwhile: who loses that race has seen another intent win, and judges anew.
func (s *Store) Apply(ctx context.Context, set string, i once.Intent) (once.Standing, error) {
	for ctx.Err() == nil {
		was, err := s.Standing(ctx, set, i.Member)
		if err != nil {
			return was, err
		}
		next := was.Judge(i)
		if next.Verdict != once.Applied {
			return next, nil
		}
		var n int64
		if was.Seq == 0 {
			n, err = s.affected(ctx, "apply", s.say.toggleFirst, set, i.Member, digit(i.On), i.Seq)
		} else {
			n, err = s.affected(ctx, "apply", s.say.toggle, digit(i.On), i.Seq, set, i.Member, digit(was.On), was.Seq)
		}
		if err != nil || n == 1 {
			return next, err
		}
	}
	return once.Standing{}, wrap("apply", ctx.Err())
}

// Standing implements once.ToggleStore.
func (s *Store) Standing(ctx context.Context, set, member string) (once.Standing, error) {
	var on int
	var r once.Standing
	err := s.db.QueryRowContext(ctx, s.say.standing, set, member).Scan(&on, &r.Seq)
	if errors.Is(err, sql.ErrNoRows) {
		return once.Standing{}, nil
	}
	r.On = on == 1
	return r, wrap("standing", err)
}

// On implements once.ToggleStore. It counts rows in an index: there is no counter
// that everybody who follows somebody famous would wait for.
func (s *Store) On(ctx context.Context, set string) (n int64, err error) {
	err = s.db.QueryRowContext(ctx, s.say.on, set).Scan(&n)
	return n, wrap("count", err)
}

func digit(on bool) int {
	if on {
		return 1
	}
	return 0
}
