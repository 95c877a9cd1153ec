// Package crashtest kills the real server in the middle of a burst, again and
// again on the same folder, and holds what its buyers were told against what
// is there afterwards. It has tests only:
//
//	go test ./internal/crashtest                                a few kills
//	go test ./internal/crashtest -crash.kills=300 -timeout=30m  as `make test-crash`
//
// Every run prints its seed; -crash.seed repeats the choices of a run (when to
// kill, who asks for what), though not the scheduling of the processes.
package crashtest
