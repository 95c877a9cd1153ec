// Package redis keeps limits in Redis or Valkey (5 or later; standalone, Sentinel
// or Cluster), so that any number of processes share them. See package limit for
// the policies and for what is promised whatever the store.
//
//	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true})
//	…
//	perUser, err := redis.New(client, limit.Rule{Name: "user", Policy: limit.GCRA(limit.PerSecond(10), 20)}, redis.Options{})
//	…
//	r, err := perUser.Take(ctx, user, 1)
//
// # One script a decision
//
// Every call is one EVALSHA, and one round trip; when the server does not know
// the script, one EVAL follows. The script reads the server's own clock (TIME),
// looks, decides and writes. A refusal takes nothing, and writes nothing except
// that a log drops what its window has left behind. No client's clock takes
// part, so that clients with wrong clocks change nothing.
//
// Several rules, as per user and per address and for all, are decided by one
// script too (NewJoint): all of them grant, or none takes. Their keys share the
// hash tag Options.Slot, because a cluster runs a script on one server only; all
// that is limited by them is therefore on one server. A Limiter without a slot is
// spread over the cluster by its keys.
//
// # Keys
//
//	PREFIX[{SLOT}:]NAME:KIND:KEY
//
// A bucket or a window is one short string (about 100 bytes with its key), a
// sliding log is a list with an entry for each grant or grain. Every key has a
// time to live after which it would stand as if never used, and goes by itself.
//
// # When Redis fails
//
// A call that gets no answer within Options.Timeout, or an error, is
// limit.ErrUnavailable. It is not repeated: it may have taken.
//
//   - Failover: Redis replicates after it has answered, so that the new master may not
//     have heard of the last takes. It grants exactly those again: a window sees its
//     limit and what was lost, which is at most the limit once more for each failover.
//   - Eviction: under maxmemory with any policy but noeviction, also a volatile one, as
//     all keys have a time to live, keys go before their time. Such a key stands as if
//     never used: the whole limit is granted again, as often as that happens.
//   - noeviction, and memory is full: what would take is ErrUnavailable, and takes
//     nothing, of any rule. Refusals and Peek are answered.
//   - A server that is paused and goes on has forgotten nothing.
//
// When the server's clock goes back, state from its future stays in force, for
// one window more at most; then it is mended in place. Keys that expired before
// the step are gone, and had stood as unused. Times must be before the year 2255,
// when they need more than the 53 bits of a Lua number.
package redis
