package lab

import "context"

// sqlUnique is `WHERE units > 0` and a unique index on the user of an order: the
// database refuses the second order of the same person, whoever asks, whenever.
//
// This is all that it takes to be exact on one database, and it is the last
// barrier under Rushgate, too. The order is inserted first and the row updated
// last, so that the row, for which everybody waits, is held for the shortest
// time. What is left of the price: each sale of a unit is a transaction and a
// sync of its own, one after the other.
func sqlUnique(d dialect) Way {
	return sqlWay(d, Way{
		Name: "sql-unique", Title: "unique index per user, UPDATE … WHERE units > 0",
		Why: "The database itself refuses the second order of a user and the unit too many. Exact; as fast as one row can be committed.",
		Promises: Promises{NeverOversells: true, OncePerUser: true, SurvivesPause: true,
			SurvivesCrash: true, ObeysAdmin: true},
	}, true, func(s sqlShop) Seller { return uniqueSeller{s} })
}

type uniqueSeller struct{ sqlShop }

// ignoring is how each database inserts unless the user is there.
func (d dialect) ignoring() string {
	if d.name == "mariadb" {
		return "INSERT IGNORE INTO lab_orders VALUES (?, ?)"
	}
	return "INSERT INTO lab_orders VALUES (?, ?) ON CONFLICT DO NOTHING"
}

// Buy writes the order, and takes the unit.
func (s uniqueSeller) Buy(ctx context.Context, o Order) (Answer, error) {
	return s.within(ctx, func(t *tx) (Answer, error) {
		added, err := t.change(ctx, s.ignoring(), o.ID, o.User)
		if err != nil {
			return 0, err
		}
		if added == 0 {
			return Already, nil
		}
		taken, err := t.change(ctx, "UPDATE lab_stock SET units = units - 1 WHERE units > 0")
		if err != nil {
			return 0, err
		}
		if taken == 0 {
			return SoldOut, nil
		}
		return Granted, nil
	})
}
