package lab

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// redisLPop prepares one list entry for each unit, and everybody pops one.
//
// It cannot oversell: what was popped is gone. That is its weakness, too. A
// seller that dies between the pop and the order takes the unit with it, and
// the buyer, whose name was put down first so that nobody gets two, hears for
// ever that he has one. A list of a million units is also a million entries of
// memory and a slow start.
func redisLPop() Way {
	return Way{
		Name: "redis-lpop", Family: Counters, Title: "LPOP of prepared units",
		Why:      "A popped unit cannot be sold twice. A crash after the pop loses it, and leaves its buyer marked as served.",
		Needs:    []Need{Redis},
		Promises: Promises{NeverOversells: true, OncePerUser: true, SurvivesPause: true, ObeysAdmin: true},
		Open: func(_ context.Context, p Place) (Seller, error) {
			return lpopSeller{newRedisShop(p)}, nil
		},
	}
}

// keyUnits is the list of units that are left.
const keyUnits = "rushgate-lab:units"

type lpopSeller struct{ redisShop }

// Begin prepares the units.
func (s lpopSeller) Begin(ctx context.Context, units int) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	return s.Restock(ctx, units)
}

// Buy marks the user and pops a unit.
func (s lpopSeller) Buy(ctx context.Context, o Order) (Answer, error) {
	if added, err := s.db.SAdd(ctx, keyUsers, o.User).Result(); err != nil || added == 0 {
		return Already, err
	}
	err := s.db.LPop(ctx, keyUnits).Err()
	if errors.Is(err, redis.Nil) {
		return SoldOut, s.db.SRem(ctx, keyUsers, o.User).Err()
	}
	if err != nil {
		return 0, err
	}
	(s.work / 2).do(ctx)
	return Granted, s.db.RPush(ctx, keyOrders, o.line()).Err()
}

// Restock prepares more units, in pieces that do not hold Redis up.
func (s lpopSeller) Restock(ctx context.Context, units int) error {
	for units > 0 {
		piece := make([]any, min(units, 1000))
		for i := range piece {
			piece[i] = 1
		}
		if err := s.db.RPush(ctx, keyUnits, piece...).Err(); err != nil {
			return err
		}
		units -= len(piece)
	}
	return nil
}

// Left counts the entries.
func (s lpopSeller) Left(ctx context.Context) (int, error) {
	n, err := s.db.LLen(ctx, keyUnits).Result()
	return int(n), err
}

// Clear takes all entries away at once.
func (s lpopSeller) Clear(ctx context.Context) (int, error) {
	var left *redis.IntCmd
	_, err := s.db.TxPipelined(ctx, func(p redis.Pipeliner) error {
		left = p.LLen(ctx, keyUnits)
		return p.Del(ctx, keyUnits).Err()
	})
	return int(left.Val()), err
}
