// Package redis leases the numbers of id nodes in Redis or Valkey, by scripts
// and on the server's clock. A register of numbers is one hash, which is touched
// by one script at a time.
//
// # What is needed of the server
//
// Redis 6 or later. The hash has no expiry: it must not be evicted
// (maxmemory-policy noeviction or volatile-*). The user may run EVAL, EVALSHA,
// HGET, HGETALL, HMGET, HSET, TIME and INFO.
//
// # What a Redis forgets
//
// After FLUSHALL, a restart without its data, or a failover to a replica that
// lacks the last writes, windows may be open that the server does not know. It
// knows that this may be so: the register is not there, or was written last by
// another run of Redis (its run_id), or before it became a master again
// (master_replid2). Then the windows that it grants begin not now but Options.Grace
// later, when every window that was forgotten is over. Nodes
// whose number was forgotten take another one. No id fails, but those that are
// made after a restart of Redis, and those of its first nodes ever, carry a time
// that is ahead by up to Grace, until the clock has caught up.
//
// This holds if all nodes use the same TTL (or Grace says the largest), the
// clocks of the servers that follow each other agree within the second by which
// Grace is longer than a lease, and the server does not forget twice within a
// lease, of which the first use of a register counts as once. It does not hold against a split brain: an old master that goes on
// renewing leases while a new one gives the same numbers to others. Set
// min-replicas-to-write on the servers, so that the old one stops, with a
// min-replicas-max-lag below the lease; or lease in an SQL database that commits
// synchronously (package id/sql), where ids must be unique whatever happens.
package redis
