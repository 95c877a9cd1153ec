package lab

import (
	"context"
	_ "embed"
)

// redisLua decides and writes everything in one script, which Redis runs as one
// step: nobody reads in between, and no crash of a seller can fall in between.
//
// Of the ways on Redis alone it is the one to choose: one round trip, no
// contention, no oversell, once per user. What it does not do is last. The
// orders are in Redis' memory; a restart, or a failover to a replica that was
// behind, forgets buyers who were told that they have one, and sells their units
// again. Nobody notices.
// (Rushgate's gate in Redis is such a script, with a journal, and a ledger that
// has it on the disk before the buyer hears.)
func redisLua() Way {
	return Way{
		Name: "redis-lua", Family: Counters, Title: "one Lua script per claim",
		Why:   "One step decides and writes all: fast and exact, as long as Redis forgets nothing. It is all in memory.",
		Needs: []Need{Redis},
		Promises: Promises{NeverOversells: true, OncePerUser: true, SurvivesPause: true,
			SurvivesCrash: true, ObeysAdmin: true},
		Open: func(_ context.Context, p Place) (Seller, error) {
			return luaSeller{redisShop: newRedisShop(p), buy: newScript(buyLua)}, nil
		},
	}
}

//go:embed redis_lua.lua
var buyLua string

type luaSeller struct {
	redisShop
	buy script
}

// Buy asks the script.
func (s luaSeller) Buy(ctx context.Context, o Order) (Answer, error) {
	return s.buy.answer(ctx, s.db, []string{keyStock, keyUsers, keyOrders}, o.User, o.line(),
		int(Granted), int(SoldOut), int(Already))
}
