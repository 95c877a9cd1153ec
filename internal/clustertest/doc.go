// Package clustertest proves what a cluster promises, with the real program in
// processes of its own, and real servers: nodes, Redis and databases are killed,
// paused, cut off and made to forget while a crowd buys. The crowd lives outside
// and remembers what everybody was told (crowd_test.go, journal_test.go); after
// each disaster all of it must be true, in the ledger and at the gate
// (check_test.go).
//
// Every run prints its seed. The environment changes its size:
// RUSHGATE_CLUSTER_PEOPLE is how many people come in the long test,
// RUSHGATE_CLUSTER_SEED repeats the choices of a run.
package clustertest
