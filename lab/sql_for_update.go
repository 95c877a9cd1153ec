package lab

import "context"

// sqlForUpdate locks the row as it reads it: whoever comes next waits until the
// transaction before has committed, and reads what it left.
//
// It holds in everything, for the same reason for which it is slow: there is one
// line, and each buyer holds it for all their round trips and for the sync of
// the commit. (In SQLite the transaction takes the database's one lock by
// writing first.)
func sqlForUpdate(d dialect) Way {
	return sqlWay(d, Way{
		Name: "sql-for-update", Title: "SELECT … FOR UPDATE",
		Why: "The row is locked from the read to the commit: exact, with one buyer at a time for the whole transaction.",
		Promises: Promises{NeverOversells: true, OncePerUser: true, SurvivesPause: true,
			SurvivesCrash: true, ObeysAdmin: true},
	}, false, func(s sqlShop) Seller { return forUpdateSeller{s} })
}

type forUpdateSeller struct{ sqlShop }

// Buy locks, reads and writes.
func (s forUpdateSeller) Buy(ctx context.Context, o Order) (Answer, error) {
	return s.within(ctx, func(t *tx) (Answer, error) {
		if s.lock == "" {
			if _, err := t.change(ctx, "UPDATE lab_stock SET version = version + 1"); err != nil {
				return 0, err
			}
		}
		left := 0
		if err := t.read(ctx, "SELECT units FROM lab_stock"+s.lock, nil, &left); err != nil {
			return 0, err
		}
		if left <= 0 {
			return SoldOut, nil
		}
		if has, err := t.has(ctx, o.User); err != nil || has {
			return Already, err
		}
		t.work.do(ctx)
		if _, err := t.change(ctx, "UPDATE lab_stock SET units = ?", left-1); err != nil {
			return 0, err
		}
		return Granted, t.record(ctx, o)
	})
}
