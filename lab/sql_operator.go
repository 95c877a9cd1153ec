package lab

import "context"

// What an operator does in SQL, in one statement each or in a transaction that
// locks the row: the same for all ways but the naive one.

// Restock adds units.
func (s sqlShop) Restock(ctx context.Context, units int) error {
	_, err := s.db.ExecContext(ctx, s.numbered("UPDATE lab_stock SET units = units + ?, version = version + 1"), units)
	return err
}

// Clear takes what is left. The row is written before it is read, which locks it
// in every database.
func (s sqlShop) Clear(ctx context.Context) (left int, err error) {
	for {
		answer, err := s.within(ctx, func(t *tx) (Answer, error) {
			if _, err := t.change(ctx, "UPDATE lab_stock SET version = version + 1"); err != nil {
				return 0, err
			}
			if err := t.read(ctx, "SELECT units FROM lab_stock", nil, &left); err != nil {
				return 0, err
			}
			_, err := t.change(ctx, "UPDATE lab_stock SET units = 0")
			return Granted, err
		})
		if answer != Contended || err != nil {
			return left, err
		}
	}
}

// Left reads the row.
func (s sqlShop) Left(ctx context.Context) (left int, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT units FROM lab_stock").Scan(&left)
	return left, err
}

// Orders reads the table.
func (s sqlShop) Orders(ctx context.Context) ([]Order, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT id, user_id FROM lab_orders")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var orders []Order
	for rows.Next() {
		var o Order
		if err := rows.Scan(&o.ID, &o.User); err != nil {
			return nil, err
		}
		orders = append(orders, o)
	}
	return orders, rows.Err()
}

// Close closes the connections.
func (s sqlShop) Close() error { return s.db.Close() }

// sqlWay is what the ways in SQL have in common.
func sqlWay(d dialect, w Way, unique bool, seller func(sqlShop) Seller) Way {
	w.Name += "-" + d.name
	w.Title += ", " + d.title
	w.Family, w.Needs, w.Durable = SQL, d.needs, true
	w.Open = func(_ context.Context, p Place) (Seller, error) {
		shop, err := newSQLShop(d, p, unique)
		if err != nil {
			return nil, err
		}
		return seller(shop), nil
	}
	return w
}
