package lab

import "context"

// sqlReadWrite selects what is left, looks, and updates the row to one less than
// what it read. It is in a transaction, and that is what people trust.
//
// A transaction at the usual level (READ COMMITTED in PostgreSQL, REPEATABLE READ
// in MariaDB) lets everybody read the same number and then write one after the
// other: lost updates, one for each buyer who read before the first one wrote.
// SQLite alone refuses: who has read may write only if nobody wrote since. There
// it does not oversell, it turns people away.
func sqlReadWrite(d dialect) Way {
	w := Way{
		Name: "sql-read-write", Title: "SELECT, compare, UPDATE",
		Why:      "A transaction does not stop others from reading the same number: the updates overwrite each other.",
		Promises: Promises{SurvivesCrash: true},
	}
	if d.name == "sqlite" {
		w.Why = "SQLite refuses to write for whoever read before somebody else wrote: nothing is oversold, and nearly everybody is turned away."
		w.Promises = Promises{NeverOversells: true, OncePerUser: true, SurvivesPause: true, SurvivesCrash: true, ObeysAdmin: true}
	}
	return sqlWay(d, w, false, func(s sqlShop) Seller { return sqlReadWriteSeller{s} })
}

type sqlReadWriteSeller struct{ sqlShop }

// Buy writes what it believes.
func (s sqlReadWriteSeller) Buy(ctx context.Context, o Order) (Answer, error) {
	return s.within(ctx, func(t *tx) (Answer, error) {
		left := 0
		if err := t.read(ctx, "SELECT units FROM lab_stock", nil, &left); err != nil {
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
