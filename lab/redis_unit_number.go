package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisUnitNumber gives every unit a number. A buyer takes the next number from
// a counter that slides round and round, and then the unit's token, by SETNX
// with an expiry: a seller that dies leaves a token that expires, and the unit
// is found again in the next round.
//
// That heals crashes, and pays for it elsewhere. Towards the end most numbers
// are taken, and buyers are turned away while there is stock. And the expiry is
// a guess: a seller that stands still for longer writes its order for a unit
// that was sold again meanwhile.
func redisUnitNumber() Way {
	return Way{
		Name: "redis-unit-number", Family: Counters, Title: "INCR, then SETNX of the unit's token",
		Why:      "A crashed seller's token expires and its unit comes back. A paused seller's token expires as well: then the unit is sold twice.",
		Needs:    []Need{Redis},
		Promises: Promises{NeverOversells: true, SurvivesCrash: true},
		Open: func(_ context.Context, p Place) (Seller, error) {
			return unitSeller{newRedisShop(p), p.Lease}, nil
		},
	}
}

const (
	keyCursor = "rushgate-lab:cursor"   // the last number given out
	keyTotal  = "rushgate-lab:total"    // how many units have numbers
	keyToken  = "rushgate-lab:token:%d" // who has taken a unit, for a lease or for good

	unitTries = 3
)

type unitSeller struct {
	redisShop
	lease time.Duration // of a token that has no order yet
}

// Begin says how many numbers there are.
func (s unitSeller) Begin(ctx context.Context, units int) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	return s.Restock(ctx, units)
}

// Buy slides over a few numbers.
func (s unitSeller) Buy(ctx context.Context, o Order) (Answer, error) {
	if has, err := s.has(ctx, o.User); err != nil || has {
		return Already, err
	}
	total, err := s.db.Get(ctx, keyTotal).Int64()
	if err != nil {
		return 0, err
	}
	for range unitTries {
		number, err := s.db.Incr(ctx, keyCursor).Result()
		if err != nil || total == 0 {
			return SoldOut, err
		}
		token := fmt.Sprintf(keyToken, number%total)
		err = s.db.SetArgs(ctx, token, o.ID, redis.SetArgs{Mode: "NX", TTL: s.lease}).Err()
		if err == nil {
			return Granted, s.keep(ctx, token, o)
		}
		if !errors.Is(err, redis.Nil) {
			return 0, err
		}
	}
	if left, err := s.Left(ctx); err != nil || left <= 0 {
		return SoldOut, err
	}
	return Contended, nil
}

// keep writes the order, and with it that the token is there to stay. If that
// fails the token goes back at once.
func (s unitSeller) keep(ctx context.Context, token string, o Order) error {
	(s.work / 2).do(ctx)
	_, err := s.db.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.SAdd(ctx, keyUsers, o.User)
		p.RPush(ctx, keyOrders, o.line())
		return p.Persist(ctx, token).Err()
	})
	if err != nil {
		return errors.Join(err, s.db.Del(ctx, token).Err())
	}
	return nil
}

// Restock gives out more numbers.
func (s unitSeller) Restock(ctx context.Context, units int) error {
	return s.db.IncrBy(ctx, keyTotal, int64(units)).Err()
}

// Left is what has a number and no order.
func (s unitSeller) Left(ctx context.Context) (int, error) {
	total, err := s.db.Get(ctx, keyTotal).Int()
	if err != nil {
		return 0, err
	}
	sold, err := s.db.LLen(ctx, keyOrders).Result()
	return max(total-int(sold), 0), err
}

// Clear takes the numbers away that have no order. Tokens that are just being
// turned into orders have none either.
func (s unitSeller) Clear(ctx context.Context) (int, error) {
	left, err := s.Left(ctx)
	if err != nil {
		return 0, err
	}
	return left, s.db.DecrBy(ctx, keyTotal, int64(left)).Err()
}
