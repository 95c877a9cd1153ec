package lab

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// redisWatch is optimistic: WATCH the number, read it, and deduct in a
// transaction that Redis refuses if anybody changed the number meanwhile
// (https://redis.io/docs/latest/develop/interact/transactions/).
//
// It holds: the order is written in the same transaction as the deduction, so a
// crash cannot fall between them. Its price is that of all buyers who read the
// same number one gets through and the others are turned away although there
// is stock; the more come, the more work is done for nothing. (Who tries again in a
// loop turns fewer away, and does that work as often.) The articles also
// mend a number below zero, which only somebody else can have made. (Mending is
// a write, too: it is done in the transaction, or it could wipe out a restock.)
func redisWatch() Way {
	return Way{
		Name: "redis-watch", Family: Counters, Title: "WATCH, GET, MULTI, DECR, EXEC",
		Why:   "Redis refuses the transaction when the number changed after it was read. Safe, but of all who read the same number one gets through.",
		Needs: []Need{Redis},
		Promises: Promises{NeverOversells: true, OncePerUser: true, SurvivesPause: true,
			SurvivesCrash: true, ObeysAdmin: true},
		Open: func(_ context.Context, p Place) (Seller, error) {
			return watchSeller{newRedisShop(p)}, nil
		},
	}
}

type watchSeller struct{ redisShop }

// Buy tries once.
func (s watchSeller) Buy(ctx context.Context, o Order) (answer Answer, err error) {
	err = s.db.Watch(ctx, func(tx *redis.Tx) error {
		left, err := tx.Get(ctx, keyStock).Int()
		if err != nil {
			return err
		}
		if left < 0 {
			_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, keyStock, 0, 0).Err() })
		}
		if left <= 0 {
			answer = SoldOut
			return err
		}
		if has, err := tx.SIsMember(ctx, keyUsers, o.User).Result(); err != nil || has {
			answer = Already
			return err
		}
		s.work.do(ctx)
		answer = Granted
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Decr(ctx, keyStock)
			p.SAdd(ctx, keyUsers, o.User)
			p.RPush(ctx, keyOrders, o.line())
			return nil
		})
		return err
	}, keyStock)
	if errors.Is(err, redis.TxFailedErr) {
		return Contended, nil
	}
	return answer, err
}
