// Package redis keeps the claims of package lock in Redis or Valkey, version 6.2
// or later: one server, a master that Sentinels know, or a cluster.
//
// Every call is one script on one key: EVALSHA, and EVAL for a server that does
// not know it yet. Who has a lock alone, with what fence, is in a string,
// PREFIX{KEY}, that expires with the lease; while there are several claims, HGETALL
// PREFIX{KEY}:claims shows them, and who waits. All keys of a lock have one hash
// tag. Time is Redis's own.
//
// Grants are told by PUBLISH on a channel of each node, on which a Locker that
// waits has one subscription. The client’s user needs EVAL, EVALSHA, SUBSCRIBE,
// what the scripts call, and the keys and channels of the prefix. Without
// SUBSCRIBE or the channels all works but is slow where somebody waits: see
// lock.Options.Deaf.
//
// What Redis forgets, locks forget: see "What happens when" in package lock. Use
// maxmemory-policy noeviction. With appendonly and appendfsync always a restart
// forgets nothing; a failover may, as replication is asynchronous.
package redis
