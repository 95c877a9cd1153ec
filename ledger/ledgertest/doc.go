// Package ledgertest holds every ledger against the contract of
// [rushgate.Ledger]: one suite, one set of benchmarks, for all databases.
//
// A ledger's own tests call [Run] and [Bench] with a [Factory]. The suite knows
// the ledger by its interface alone, and a restart by opening another ledger
// over the same [Storage]. Three kinds of test are in it: a sentence of the
// contract each (grants.go, moves.go, puts.go, reads.go, unknown.go); what other
// systems got wrong (pitfalls.go); and random histories against a plain model
// in memory (model.go, history.go).
//
// Ledgers over a server are held against two more suites, by a [SharedFactory]:
// [RunShared] has several nodes at the same time (together.go, races.go,
// locks.go), [RunLeases] the leases by which they agree (leases.go,
// leasemodel.go).
package ledgertest
