// Package lock is distributed locks: one at a time across processes, readers
// and writers, a number of permits, several keys at once. Claims are kept by a
// Backend: Redis or Valkey (lock/redis), PostgreSQL (lock/postgres), the memory
// of one process (Memory), or a majority of several servers (Redlock).
//
//	h, err := locker.Lock(ctx, "report:2031")
//	if err != nil {
//		return err
//	}
//	defer h.Unlock(context.WithoutCancel(ctx))
//	return write(h.Context(), h.Fence())
//
// # What it guarantees
//
//   - Who holds a lock holds it alone, as long as clocks run at about the same
//     speed (1 % is allowed for) and the server forgets nothing. Every change is one
//     atomic step at the server, by the server's clock.
//   - The holder knows first. Its lease counts from before it asked, on its own
//     monotonic clock: Held.Context ends before the server can have given the
//     lock to somebody else, also when no answer comes at all.
//   - Whoever is late does no harm at the server: a claim is known by its owner
//     and the token of the call, and only who has both can renew or release it.
//   - The fence grows with every grant of a key: see below.
//   - First come, first served. There is one line for a key, and whoever leaves
//     hands over to the next one in the same step; nobody overtakes, so neither
//     readers nor writers nor large demands starve. (A Redlock has no line.) There is
//     no other mode, in which who comes may take a free lock before those who wait:
//     a lock that is handed over changes hands in one round trip, one that is set
//     free in two. When that was tried (Redis, 16 callers of one key), it gave a
//     fifth fewer locks, and less than a third of the changes of hands.
//   - Nobody spins. Who waits is told, by one subscription for each Locker, and
//     asks only to give a sign of life (each third of a lease), when those ahead
//     may have died, and after a connection was lost. Why nothing is heard,
//     Options.Deaf is told.
//   - Nothing is stranded for longer than a lease: not by a holder that died, nor
//     by one that died in the line, nor by a request whose answer got lost or
//     that arrives late.
//
// # What it does not, and why there is a fence
//
// No lock with a lease can keep a holder from acting late. A process that is
// paused (by its collector, its host, a debugger) between looking at Valid and
// writing does not know that its lock is over, and a write may be on its way
// for long. Kleppmann ("How to do distributed locking", 2016,
// https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html)
// shows the mend: the resource itself refuses who is late. So take the number
// along, and let the writer check it where it writes, in the same step:
//
//	UPDATE report SET body = $2, fence = $1 WHERE id = $3 AND fence <= $1
//
// No row means that somebody with a greater fence was there: give up. Where a
// resource cannot check, a lock only saves work that would be done twice; do
// not let it alone guard what must not happen twice.
//
// # What happens when
//
// The holder is paused: its lock ends with its lease, and others get it. When it
// wakes up, Valid, Context().Err() and Context().Done() look at the clock
// themselves and say so, before any timer has run. (A process's monotonic clock
// may stand still while the whole machine sleeps, or its snapshot is
// restored: then only the fence helps.)
//
// The holder dies: the same. Who waits longest gets the lock when the lease ends.
// One in the line who died is skipped when his own lease ends.
//
// The server is paused, or away, or the network loses everything: renewals get
// no answer, and the context ends by the holder's clock. Calls fail with
// ErrUnavailable or, if they may wait, go on asking, always for the same claim:
// what an attempt did whose answer was lost is found by the next. A call that
// gives up releases in the background what it may have, until that must
// have ended by itself.
//
// Redis restarts and has forgotten, or a replica takes over that had not heard
// (replication is asynchronous): the lock is gone while its holder still
// believes in it, until its next renewal finds so, within a third of a lease; then
// the context ends with ErrLost. Meanwhile another one may hold it too. The
// fence tells them apart. PostgreSQL forgets nothing that it has committed, a
// standby with synchronous replication neither.
//
// The server's clock jumps forward: leases there end early, by as much, and two
// may believe that they hold; the fence tells them apart. It jumps back: leases
// last longer, by as much, and nothing else happens. A client's clock that is
// set matters to nobody: only its speed does.
//
// # How fences grow
//
// In Redis a key has a counter, kept for a day (redis.Options) from its first
// use. Its end, FLUSHALL, an eviction (use maxmemory-policy noeviction), or a
// failover makes Redis forget it, and a plain counter would begin again at 1,
// below what resources remember. So a counter that is not there begins at the
// server's time, in microseconds, which no counter before it had reached: fences
// grow after they were forgotten too, unless the clock of the server that takes
// over is behind by more than the time since the counter began, or so. PostgreSQL
// takes fences from one durable sequence.
//
// # Which variant when
//
//   - Lock, for one at a time; TryLock where somebody else's doing it is as good.
//   - RLock where many look and few change, and looking takes long: else Lock is
//     cheaper.
//   - Acquire for a number of permits: five connections to a slow service, from
//     however many processes.
//   - LockAll for several keys: all or none, without deadlock, also across the
//     slots of a Redis Cluster.
//   - As, for work that passes through functions or processes that each lock.
//   - WithoutRenewal, where others must not be held up by one that hangs.
//   - lock/redis on one Redis (or Sentinel, or cluster) is fast, and loses a lock
//     now and then at a failover. lock/postgres is durable and slower, and often
//     already where the guarded rows are; if it is the very same database, a row
//     lock in the transaction (SELECT … FOR UPDATE) is simpler still, and needs
//     no lease.
//   - Redlock, where a lock must survive the loss of a server without waiting for
//     a failover.
//
// # Redlock, honestly
//
// Over N independent masters, a majority must grant, within the lease, and all
// are told to release. It survives the loss of a minority. It still rests on
// clocks and on memory: a master that restarts empty within a lease, or whose
// clock jumps, can give away what a majority had given to somebody else.
// Kleppmann's criticism (above) and antirez's reply (http://antirez.com/news/101)
// agree that a client may be paused after the check; they differ on how much
// clocks can be trusted. This one adds what the original lacks, a fence that grows
// from majority to majority (see Redlock), so that a resource that checks it is
// safe in either view, as long as a majority remembers or its clocks do. Start a
// master that has lost its memory only after the longest lease, and do not use
// masters with replicas that take over. A semaphore needs more than a majority, with
// three masters all of them: see Redlock.
//
// # Lifecycle
//
// A Locker has one goroutine that renews all locks and releases what was given
// up, in batches, one that listens (from the first wait on), and short ones for
// requests on their way; Close ends them and releases everything. It imports
// the standard library only.
package lock
