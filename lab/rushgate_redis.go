package lab

import (
	"context"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	"rushgate/app"
)

// rushgateRedis is Rushgate as a cluster: a script in Redis decides for all
// nodes and keeps a journal, PostgreSQL has it on the disk before the buyer
// hears.
//
// A node that dies between the two leaves its claims in the journal, and another
// one records them. A node that stood still finds that somebody did. A Redis
// that forgot, as it failed over to a replica that was behind, is built again from
// the ledger.
func rushgateRedis() Way {
	return Way{
		Name: "rushgate-redis-postgres", Family: Ours, Title: "Redis gate + PostgreSQL", Durable: true,
		Why:   "A script decides and keeps a journal, a transaction records the batch before buyers hear; what a dead node left is adopted by another.",
		Needs: []Need{Redis, PostgreSQL},
		Promises: Promises{NeverOversells: true, OncePerUser: true, SurvivesPause: true,
			SurvivesCrash: true, SurvivesFailover: true, ObeysAdmin: true},
		Open: func(ctx context.Context, p Place) (Seller, error) {
			return openRushgate(ctx, p, func(cfg *app.Config) {
				gate := url.URL{Scheme: "redis", Host: p.Redis[0], RawQuery: "prefix=" + p.Prefix}
				if p.RedisTLS {
					gate.Scheme = "rediss"
				}
				if p.RedisDB != 0 {
					gate.Path = "/" + strconv.Itoa(p.RedisDB)
				}
				if p.RedisUser != "" || p.RedisPassword != "" {
					gate.User = url.UserPassword(p.RedisUser, p.RedisPassword)
				}
				cfg.Gate, cfg.Ledger = gate.String(), p.Postgres
				cfg.Node = node()
				cfg.Data = filepath.Join(p.Folder, cfg.Node)
				cfg.AdoptAfter = time.Second // the lab does not wait for a real one
			})
		},
	}
}
