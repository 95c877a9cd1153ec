// Package redis keeps what package once needs in Redis (6.0 and later, Valkey),
// through rueidis: standalone, Sentinel or Cluster, as the client is.
//
// Each step is one Lua script on one key (on toggles: two, with one hash tag), on
// Redis' own clock; marks of a single member are the plain command. The scripts
// are in files of their own, with what they are given and answer at their heads.
// Ends of attempts are told on one channel, and only when somebody waits for them;
// if messages get lost, those who wait ask every 5 s, and when the lease ends. A user
// whose rights an ACL bounds needs that channel, too: &once:ends, after the Prefix.
//
// # What it costs
//
// A mark of one member is as fast as the plain command. A Do that runs its work is
// two scripts, of 10 to 15 µs of Redis' time each; SETNX and SET, which check no owner,
// give no token and tell nobody, take a third of that. A Do whose result is there is
// one, a little more than a GET. Measure it beside the plain commands:
//
//	go test -run '^$' -bench Once -benchtime 6400x ./once/redis
//
// # What it survives
//
// What Redis survives. Use `appendonly yes`, and `maxmemory-policy noeviction`. A
// failover to a replica that lags may forget the latest keys, marks and intents:
// then they are done again. Where that must not happen, use once/sql.
//
// # Which marks, and what a million users take
//
// A Set takes any names. A Hash keeps a tag with each of them, so that FirstBy can
// be asked again; a Bitmap takes numbers, and is small when they are dense, that
// is, when most numbers from 0 to the greatest are users. It is cut into segments of
// 65,536 numbers, 8 KiB each: of random numbers, nearly every user would take one.
// That is why ids are bounded (Options.MaxID), and why random 63-bit ids are refused.
//
// Megabytes (10^6 bytes) for a million users, on Redis 7.0 with jemalloc:
//
//	              dense   random   string
//	Set            48.6     72.6     72.7
//	Hash           56.6     80.6     80.6
//	Hash, tags     64.6     88.6     88.7
//	Bitmap          0.4        -        -
//	toggles        80.8    104.8    104.8
//	records       177.0    193.0    209.0
//
// dense: 0 to 999,999. random: 63-bit ids, 19 digits. string: names of 30 bytes. A
// record is one of Do with a result of 2 bytes that expires; toggles have numbers of
// 16 digits, the tags 13 characters. To measure again:
//
//	go test -run '^$' -bench Memory -benchtime 1x ./once/redis
package redis
