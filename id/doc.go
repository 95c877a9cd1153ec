// Package id makes ids: 63-bit numbers that are ordered by time, come from many
// nodes without asking anybody, and are not found by counting; and UUIDs of
// version 7.
//
//	63 bits   41: milliseconds since 2024     22−b: series         b: node
//	          01100000111100001010001111…     00101011100110       00000111
//
// The series begins anywhere in the lowest quarter of its range in each
// millisecond, and grows by random steps. A node makes 2 million ids a second, and
// more, within their own milliseconds, and never waits: who asks for more gets ids
// that run ahead of the clock, and are still in order.
//
// # Which one to take
//
//   - Generator: one node alone, or numbers of nodes that are given out by hand or
//     by a lease that you have anyway. No store, no error, no goroutine. Two nodes
//     with one number make the same ids: it is you who sees to that.
//   - Node, by Join: many nodes. The number comes from a Store (id/redis, id/sql),
//     and uniqueness does not depend on anybody's being in time.
//   - UUIDs: 128 bits and no coordination at all, where the size does not matter
//     or an id must not be guessed.
//
// # What a Node guarantees
//
// Every id differs from every other of all nodes that share a register, and is
// larger than all that this node has made before.
//
// The store leases a number for a window of time, and the windows of one number
// never overlap: the next holder's begins where the last one's ended, by the
// store's own clock and in one atomic step. A node makes only ids whose time lies in
// its window. So there is no moment at which a lease "runs out under" a node: a
// process that was stopped for an hour (SIGSTOP, a long GC, a suspended machine)
// and wakes up in the middle of Next can make an id in its own old window at most,
// which nobody else ever has. This takes no fencing, no watch on the lease, and no
// timing.
//
// Renewal, three times in a TTL, extends the window. When it fails, ids go on until
// the window ends; then Next returns ErrNoLease at once, with the reason, until the
// store answers again. A doubtful id is never made.
//
// # What happens when
//
//   - The node's clock goes back, forward, or stands still: ids carry the store's
//     time. Of the node's clock only the time that has passed since the store's
//     last answer is used (and that of time.Now is monotonic: steps do not touch
//     it). If what was given as clock goes back, ids go on from the last one; if it
//     leaves the window, ErrNoLease.
//   - The node's clock differs from the store's: by less than MaxSkew, it does not
//     matter. By more, one of them is wrong, nobody knows which, and the store
//     refuses with ErrClock, before it has written anything: a clock that is a year
//     ahead would spoil ids and numbers for a year. A node that has a window uses it
//     up, and then stops.
//   - The store's clock goes back, by less than MaxSkew: numbers seem to be taken
//     for longer, and windows do not begin earlier than the last one ended. Forward:
//     ids jump with it.
//   - The node's clock runs slower or faster than the store's: it is put right at
//     every renewal. Ids are behind the store's clock by the way of its answer.
//   - More ids than fit (about 4500 in a millisecond with 8 bits of nodes): they run
//     ahead of the clock, by a TTL at most, which is the end of the window; then
//     ErrNoLease, until the next renewal, a third of a TTL later at most. A burst of a TTL's
//     worth (130 million with the default) passes; who makes more than 4.5 million a
//     second for longer than that waits while Node.Ahead is more than a third of TTL.
//   - The node crashes: its number is free again when its window ends, a TTL after
//     the last renewal at the latest. Close frees it at once.
//   - All numbers are taken: Join returns ErrNoNumber. It does not wait.
//   - The node has lost its number, because it was away for long and another one has
//     it: it takes another number at the next renewal by itself.
//   - The node is cut off from the store: as when renewal fails. Nobody else makes
//     its ids meanwhile.
//   - Nodes with another layout: ErrLayout. They would make each other's ids.
//
// # What a store forgets
//
// The guarantee is as good as the memory of the store. A Redis that lost its data
// (FLUSHALL, a restart without persistence, a failover to a replica that lags)
// does not know the windows that it granted. The store notices that, and begins
// all windows a lease later, when every forgotten one is over: see id/redis for
// what this needs, and for the split brain, which it does not cover. An SQL
// database keeps what it commits; after a restore from a backup call
// Store.Distrust: see id/sql. Two losses within one lease are not covered.
//
// # What it does not guarantee
//
// The order of ids of different nodes is that of their clocks, which agree to
// within a way to the store and back; and an id that was made later may be recorded
// earlier. Gaps are everywhere, and meant.
//
// # How well an id can be guessed
//
// Adding one finds nothing. Who sees the first id of a millisecond finds the next
// one of that node with a probability of 1 in 2^StartBits, and less well than that
// one of another millisecond. In a rush, when a node makes hundreds in a millisecond, an
// id is followed by one of 2^StepBits:
//
//	bits of nodes       0     4     8     9    10
//	second id, 1 in  2^17  2^12   2^8   2^7   2^1
//	in a rush, 1 in  2^10   2^6   2^2   2^1   2^1
//
// And whoever may try often finds some id of a busy millisecond: where a quarter of
// the numbers are used, every fourth guess is right. The times at which ids were made
// can be read off them, and roughly how many. So an id is no secret, like any number
// of 63 bits that tells its time: who may see a thing is decided by a permission. Where
// there is none, take a UUID: 1 in 2^32 for the next one of the same millisecond.
//
// # Text
//
// Decimal (String, Parse), also in JSON, where it is a string because many readers
// have 53 bits for numbers; Crockford's base 32 (Base32, ParseBase32), 13 characters
// that sort as the ids do. ID and UUID go into columns and come back (Value, Scan).
package id
