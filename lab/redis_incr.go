package lab

import "context"

// redisIncr counts what was sold: INCR is atomic, so everybody gets another
// number, and whoever gets one above the limit gives it back.
//
// It does not oversell. But a seller that dies between taking a number and
// writing the order (or giving the number back) takes the unit with it for
// ever: nothing in Redis says whose it was. "Has this user one?" is asked before
// the order is written, so two clicks at the same moment get two. And the limit
// is read before the number is taken: what an operator clears in between is sold
// all the same.
func redisIncr() Way {
	return Way{
		Name: "redis-incr", Family: Counters, Title: "INCR and compare, give back",
		Why:      "Everybody gets another number, so it never oversells. A crash between the number and the order loses the unit; two clicks at once get two.",
		Needs:    []Need{Redis},
		Promises: Promises{NeverOversells: true, SurvivesPause: true},
		Open: func(_ context.Context, p Place) (Seller, error) {
			return incrSeller{newRedisShop(p)}, nil
		},
	}
}

// keySold counts what was sold; the stock is the limit.
const keySold = "rushgate-lab:sold"

type incrSeller struct{ redisShop }

// Buy takes a number.
func (s incrSeller) Buy(ctx context.Context, o Order) (Answer, error) {
	if has, err := s.has(ctx, o.User); err != nil || has {
		return Already, err
	}
	limit, err := s.db.Get(ctx, keyStock).Int64()
	if err != nil {
		return 0, err
	}
	number, err := s.db.Incr(ctx, keySold).Result()
	if err != nil {
		return 0, err
	}
	if number > limit {
		return SoldOut, s.db.Decr(ctx, keySold).Err()
	}
	return Granted, s.record(ctx, o)
}

// Left is what lies between the number and the limit.
func (s incrSeller) Left(ctx context.Context) (int, error) {
	limit, err := s.db.Get(ctx, keyStock).Int()
	if err != nil {
		return 0, err
	}
	sold, err := s.db.IncrBy(ctx, keySold, 0).Result()
	return max(limit-int(sold), 0), err
}

// clearIncr sets the limit to what was sold, and returns the difference. Sellers
// that have read the limit before still go by it.
const clearIncr = `
local left = redis.call('GET', KEYS[1]) - (redis.call('GET', KEYS[2]) or 0)
if left <= 0 then return 0 end
redis.call('DECRBY', KEYS[1], left)
return left`

// Clear lowers the limit.
func (s incrSeller) Clear(ctx context.Context) (int, error) {
	return newScript(clearIncr).Run(ctx, s.db, []string{keyStock, keySold}).Int()
}
