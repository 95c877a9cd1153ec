package lab

import "context"

// redisReadWrite is the classic oversell: read what is left, look whether it is
// enough, write one less.
//
// Between the read and the write everybody else reads the same number. All of
// them are told that they got the same unit, and the last one who writes puts
// back what the others took. More buyers at the same time make it worse, so it
// passes every test that one person clicks through.
func redisReadWrite() Way {
	return Way{
		Name: "redis-read-write", Family: Counters, Title: "GET, compare, SET",
		Why:   "Everybody reads the same number before anybody writes it: the same unit is sold to all who read it.",
		Needs: []Need{Redis},
		Open: func(_ context.Context, p Place) (Seller, error) {
			return readWriteSeller{newRedisShop(p)}, nil
		},
	}
}

type readWriteSeller struct{ redisShop }

// Buy reads, and then writes what it believes.
func (s readWriteSeller) Buy(ctx context.Context, o Order) (Answer, error) {
	left, err := s.db.Get(ctx, keyStock).Int()
	if err != nil {
		return 0, err
	}
	if left <= 0 {
		return SoldOut, nil
	}
	if has, err := s.has(ctx, o.User); err != nil || has {
		return Already, err
	}
	s.work.do(ctx)
	if err := s.db.Set(ctx, keyStock, left-1, 0).Err(); err != nil {
		return 0, err
	}
	return Granted, s.record(ctx, o)
}

// Restock reads and writes as well: what is sold in between is put back.
func (s readWriteSeller) Restock(ctx context.Context, units int) error {
	left, err := s.Left(ctx)
	if err != nil {
		return err
	}
	return s.db.Set(ctx, keyStock, left+units, 0).Err()
}

// Clear writes a zero, which the next seller who read before overwrites.
func (s readWriteSeller) Clear(ctx context.Context) (int, error) {
	left, err := s.Left(ctx)
	if err != nil {
		return 0, err
	}
	return left, s.db.Set(ctx, keyStock, 0, 0).Err()
}
