// Package crashtest kills the real server in the middle of a burst, again and
// again on the same folder, and holds what its buyers were told against what
// is there afterwards. It has tests only:
//
//	go test ./internal/crashtest                      a few kills
//	make test-crash KILLS=300                         many
//
// Every run prints its seed; RUSHGATE_CRASH_SEED repeats the choices of a run
// (when to kill, who asks for what), though not the scheduling of the processes.
package crashtest
