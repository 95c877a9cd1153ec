// Package once does the same thing for the same user once: "follow" clicked five
// times in a bad network, one reward per person, a webhook that is delivered twice.
//
// It stands alone: it needs the standard library only, and so does the store in
// memory. Redis is in once/redis; PostgreSQL, MySQL, MariaDB and SQLite are in
// once/sql; the Idempotency-Key of HTTP is in once/http; the tests that a store
// of your own must pass are in once/oncetest.
//
// # Which one
//
//	what you want                                             take
//	a payment, an order: an answer that can be had again      Once.Do
//	the same, and all that is done is done in one database    DoTx of once/sql: exactly once
//	one reward per person; seen before? (no result)           Marks
//	follow and unfollow, like and unlike                      Toggles
//	an HTTP API whose clients repeat their requests           once/http
//
// # Do
//
// The first call for a key runs the work. Others for the same key, here or on
// another node, wait for its result and get it: bytes, of a bounded size, kept for
// Config.Keep. In a process one caller waits for all; between processes Redis tells
// of the end, and with SQL the waiting ask, at distances that grow to half a second.
// Patience is bounded, and NoWait asks for an answer at once.
//
//   - The work fails: the key is free, the caller gets the error, and one of those who
//     wait tries next. An error marked by Permanent is kept as the result instead, and
//     so is it that a result was too large: the work was done.
//   - The process dies: its lease ends, after 30 s by default, and one of those who
//     wait takes over. Until then others hear ErrInProgress. That is not "done": a
//     consumer must not acknowledge its message because of it, for it may be the
//     redelivery of what the dead one was processing.
//   - The process stands still (a long collection of garbage, a machine that is
//     suspended) for longer than the lease: somebody may take over. When it goes on,
//     its work's context ends, with the cause ErrLost; its result is refused by the
//     store, in the same atomic step that would have recorded it; and its caller gets
//     the result of the one who took over, if that has ended, or ErrLost.
//   - The store is away: calls fail, soon and together. An attempt that is under way
//     goes on for as long as its lease lasts, then its context ends; its result is
//     tried to be recorded for another lease. If that fails, Do says ErrUnrecorded.
//   - The network loses an answer: every call of a store can be made again and
//     says the same, as each attempt has a name of its own. Do makes it again.
//   - The store forgets (a Redis without persistence that restarts, a failover to a
//     replica that lags): so does Do. Keep in SQL what must not be done twice.
//   - A clock steps: leases and times to keep are measured by the clock of the store,
//     alone. When that steps forward, leases end early; when it steps back, they
//     last longer. Either way at most one result is recorded.
//   - A node is cut off from the store: it is like one that stands still.
//
// # What is guaranteed, and what is not
//
// At most one completion is recorded for each key, and everybody who gets a result
// gets that one, for as long as the store keeps it.
//
// The work itself may begin twice: after a crash nobody knows how far it came, and
// after a pause two may be at it for a moment. No lock and no lease can rule that
// out. So what the work does must be one of these:
//
//   - idempotent: it sets a value, rather than adding to one; or it hands the key
//     on, as the idempotency key of the payment provider;
//   - fenced: it carries Attempt.Token to the system that it changes, which refuses a
//     lower token than it has seen. Tokens of a key only grow (also over expiry and
//     Forget, as they begin with the store's clock, unless that goes back);
//   - in one transaction with the key, which is exactly once, and simpler than the
//     rest.
//
// The last one, with once/sql:
//
//	r, err := store.DoTx(ctx, "order-17", oncesql.TxOptions{},
//		func(ctx context.Context, tx *sql.Tx, _ once.Attempt) ([]byte, error) {
//			_, err := tx.ExecContext(ctx, `UPDATE accounts SET balance = balance - 7 WHERE id = 1`)
//			return []byte("receipt 17"), err
//		})
//
// # Marks
//
// First is true for exactly one caller for each member of a set. The mark comes
// before the deed: who dies between the two has marked somebody who got nothing.
// FirstBy closes that gap with a tag, the id of the message or the order: asked
// again by the same tag, it is true again, so that the redelivery goes on. Undo
// takes a mark back.
//
// # Toggles
//
// An intent (on or off) carries a number that grows with each click of one member.
// The greatest number wins, in whatever order the clicks arrive and however
// often; a late one is answered with the present state. The count of those who
// are on is exact. If the numbers come from several devices' clocks, the last intent is
// the one with the latest clock.
//
// # Stores
//
//	             Memory            Redis                   SQL
//	survives     nothing           what Redis survives     what the database survives
//	shared by    one process       all nodes               all nodes (SQLite: one machine)
//	who waits    is told           is told (publish)       asks
//	full         ErrFull           what Redis is set to do the disk
//	Do, first    -                 2 round trips           3 (MySQL 4), 2 commits
//	Do, again    -                 1                       1
//
// Give Redis `maxmemory-policy noeviction`: one that evicts forgets what was promised.
// Its documentation has what a million users take, by structure.
package once
