package lab

import "context"

// sqlWhereStock lets the database do the arithmetic: one UPDATE that finds the
// row only if there is something left, and takes one.
//
// The number holds, in a rush, a pause and a crash. But whether the user has one
// is a question of its own, asked before, and two clicks at the same moment are
// both told that there is none yet.
func sqlWhereStock(d dialect) Way {
	w := Way{
		Name: "sql-where-stock", Title: "UPDATE … WHERE units > 0",
		Why:      "The database counts, so it is never oversold. Two clicks at the same moment get two: one per user is only looked up.",
		Promises: Promises{NeverOversells: true, SurvivesPause: true, SurvivesCrash: true, ObeysAdmin: true},
	}
	if d.name == "sqlite" {
		w.Why = "The database counts, so it is never oversold. In SQLite, who looked up before somebody else wrote may not write: one per user holds, too, and many are turned away."
		w.OncePerUser = true
	}
	return sqlWay(d, w, false, func(s sqlShop) Seller { return whereStockSeller{s} })
}

type whereStockSeller struct{ sqlShop }

// Buy looks the user up, and takes a unit.
func (s whereStockSeller) Buy(ctx context.Context, o Order) (Answer, error) {
	return s.within(ctx, func(t *tx) (Answer, error) {
		if has, err := t.has(ctx, o.User); err != nil || has {
			return Already, err
		}
		taken, err := t.change(ctx, "UPDATE lab_stock SET units = units - 1 WHERE units > 0")
		if err != nil {
			return 0, err
		}
		if taken == 0 {
			return SoldOut, nil
		}
		return Granted, t.record(ctx, o)
	})
}
