// Package redis is the gate of any number of nodes: every sale in a Redis, or a
// Valkey, that all of them share; alone, behind Sentinel, or as a cluster. It
// decides batches by scripts, one for each shard of a sale, and can be lost: the
// ledger has everything that was acknowledged, and the gate is loaded from it.
//
// # What is where
//
// A sale has one shard or several. All keys of a shard share a hash tag, so that
// one script may change them in one step. control.lua, with which every script
// begins, lists them: control (rules, epoch, counts), and for each epoch the
// holders, the keys, the journal and the moves. A new picture is laid beside the
// present one, under names with its own epoch, and takes its place in one step.
// A user belongs to one shard, by a hash of the name, so that the limit is exact;
// a key is known in its user's shard.
//
// # Asking twice
//
// Every script can be repeated. Claims, and what becomes of them, go by the
// claim's id; rules by their version; restocks and moves by a token; a load by
// its token and the numbers of its chunks. An answer that got lost is so asked
// for again, for a bounded time, and then it is Unavailable: whoever asks once
// more with the same ids learns what became of it. Whatever is refused is refused
// before the first write of a script, also by Redis itself when its memory is
// full; what gives back, settles or freezes goes through even then.
//
// # The journal
//
// What is granted goes into the journal in the same step, with everything that a
// node needs to record it. It is a hash with an entry for each batch, and not a
// stream with one for each claim. A stream can only be trimmed at its end or
// searched by its own ids, so that settling by claim would need an index beside
// it; and writing an entry per claim costs a third of a grant and settling it
// again as much. The entry of a batch is the batch as it was asked, less what was
// refused; it is deleted whole when all of it was settled together, and else
// rewritten without what was settled. The holder's record names the entry, so
// that any node can settle any claim. The journal is bounded: when it is full,
// grants are Overloaded. A Load drops it: adopt what it holds before.
//
// # A Redis that forgot
//
// Nobody tells when a server lost what it had acknowledged. A node takes it for
// forgotten when the picture is gone or older than one it has seen, when it
// counts fewer changes than the node has seen in the same epoch, and when the
// server's run id is not that of the server into which it was loaded. The run
// id is looked at whenever a connection was made since, before the answer is
// believed. So a planned restart and every failover end in a load, even where
// nothing was lost. A load becomes the picture only where all of its chunks are
// still there: see load.lua. Between Redis and the nodes there may be no proxy
// that keeps their connections open while the server behind it changes.
//
// # Stock in several shards
//
// Each shard has a slice. Where it does not suffice, units are moved from the
// richest shard (see move.go); SoldOut is said when all were seen to have too
// little. The order of a batch holds within a shard only. Units that a node left
// on their way when it died count as free, and arrive by Mend.
//
// # Refusing without asking
//
// Peek never asks Redis. It goes by hints: rules, free units, and the set of
// those who have something, as 64-bit hashes. A node makes the set when it loads
// a sale, or by reading all holders once the sale is sold out; it is used as long
// as no grant of another node was heard of that it does not have. Scripts publish
// when rules, stock or picture change and when an item is sold out or free again;
// beside that, every node looks now and then. A hint may be old for that moment.
// When looks fail, hints are dropped after 3 times the option Timeout, and every
// ask goes to Redis.
//
// # Goroutines
//
// Open starts three: one hears news, one looks at sales, one reads everybody who
// has something in a sale; the callback of Listen is called by the second. Close
// ends all and waits for them. The client has its own, which Close ends too.
//
// Package redis imports the root and rueidis, and nothing else.
package redis
