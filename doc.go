// Package rushgate sells limited stock to a stampede: exactly what there is,
// once per person, however many show up, and provably so.
//
// The package is the domain and its story, on two ports. A [Gate] decides who
// gets one, fast; a [Ledger] writes it down, durably. [Service] brings a claim
// through both:
//
//	buyer ─ Service.Claim ─ desk ─┬─ Gate.Claim     who gets one
//	                              ├─ Ledger.Record  one SQL transaction
//	                              ├─ Gate.Settle    it is written down
//	                              └─ receipts       only now is anybody told
//
// Start reading at [Service.Claim]; then desk.go, which is the path above in
// one file; then the contracts in gate.go and ledger.go.
//
// # Time, chance, and the world
//
// The package imports the standard library only, and of that neither net nor
// os nor database/sql. The clock, randomness and the logger come in through
// [Config], so that a test can replay every decision.
package rushgate
