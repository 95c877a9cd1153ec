// Package limit holds callers to a rate: so many units in so much time, for each
// key (a user, an address, an API key, everybody together).
//
//	logins, err := limit.NewMemory(limit.GCRA(limit.PerMinute(5), 10), limit.MemoryOptions{})
//	…
//	r, err := logins.Take(ctx, user, 1)
//	if !r.Granted {
//		// come back in r.RetryAfter
//	}
//
// This package has the policies, the decisions and the store in memory, on the
// standard library alone. limit/redis keeps the same limits in Redis, for many
// processes together; limit/limithttp puts them before an HTTP handler, with
// RateLimit fields; limit/limittest is the suite that every store passes.
//
// # Which policy
//
//	policy              in any time as long as the window     a key costs, in memory   take it for
//	GCRA                burst + rate·time, exactly            16 bytes                 nearly everything
//	SlidingWindow       n, exactly                            16 bytes a grant         small n that must hold
//	SlidingWindowGrain  n, exactly; units may come back late  16 bytes a grain used    the same, with larger n
//	SlidingCounter      n if calls come evenly, below 2n      24 bytes                 large n, softly
//	FixedWindow         up to 2n around an end                16 bytes                 n from the first call on
//	AlignedWindow       up to 2n around an end                16 bytes                 quotas by the day or hour
//
// A decision costs the same whatever the numbers are, except that a sliding log
// looks at what has left its window since the last call, and, when several units
// at once are refused, for the moment at which they will fit.
//
// # What is promised
//
//   - A decision is one step. There is no gap between looking and taking through
//     which two callers could slip, in memory or in Redis.
//   - Never more than the table says, whoever calls, with any n up to the limit.
//     All n units are granted, or none. A larger n is ErrTooLarge: it could never
//     be granted.
//   - Arithmetic is on whole microseconds and units, and on exact fractions of a
//     microsecond for buckets: 1 a year and 1e9 a second do not drift. Both
//     stores are held against the same model, a list of all grants from which
//     everything is found by trial.
//   - RetryAfter is exact: the same units are granted after it if nobody takes
//     any before, and refused before it. (A sliding log with a grain, and calls
//     in between that share an entry with an older one, may make it longer.)
//   - Several rules can be decided together (Joint), all or none.
//   - Giving back is never worth more than not having taken.
//   - A key that is forgotten stands as if it had never been used: forgetting
//     grants nothing. When the store is full, and none of a few hundred keys can
//     be forgotten, a new key gets ErrFull.
//
// # What happens when
//
//   - A process with a memory store stops, or crashes: its limits begin anew.
//     Two processes with memory stores have two limits.
//   - A process is paused: nothing happens; there are no leases and no
//     goroutines. Time goes on, and units come back.
//   - The clock goes back: no more is granted than by true time, and nobody waits
//     longer than three windows (a bucket: than its burst takes to refill). The
//     memory store's own clock never goes back. A unit that was taken before the
//     step and is given back after it may count for as much longer as the clock
//     went back.
//   - The clock goes forward: units come back that much too early, once. No store
//     can tell that from time that has passed.
//   - Redis loses writes (failover to a replica that lags, restart without
//     persistence, eviction under maxmemory): the takes that it lost are granted
//     again, and no more than those. Take noeviction for limits that must hold.
//   - Somebody invents keys: see A flood of keys.
//   - Redis is away: ErrUnavailable within the timeout. Nothing is repeated,
//     because it may have been done: a take whose answer was lost stays taken.
//     Whether to let pass or to refuse is the caller's word; limithttp asks for it.
//   - A rule gets other numbers while its keys are in Redis: what was taken goes
//     on counting; a bucket is never emptier than empty. Another kind of policy,
//     or another name, begins anew. A counter whose window changes may forget one
//     window.
//
// # A flood of keys
//
// Where keys come from strangers (addresses, names that are tried), somebody can
// invent them. A memory store that is full gives room only to keys that stand as if
// never used, a bucket that is full again for one: forgetting any other would be a
// second limit for whoever returns. So while a flood fills it, keys that are known
// keep their limits, and new ones get ErrFull, until those of the flood run out.
// MaxKeys must be above new keys a second times the seconds for which one take
// counts. To bound the first, put a rule for all before it, in a Joint: what that
// refuses adds no key. (Redis has no such bound but its memory; see limit/redis.)
//
// # What it is not
//
// Nothing here waits in line for units: who is refused is told when to come back,
// and decides. It does not limit how many calls run at the same time; that is a
// semaphore. It is not a defence against a flood of packets.
//
// # Sources
//
// GCRA: ITU-T I.371, annex A; https://brandur.org/rate-limiting. Sliding counter:
// https://blog.cloudflare.com/counting-things-a-lot-of-different-things.
package limit
