// Command compare measures Rushgate against the baselines, all in one run on
// one machine: `make bench`, or `make bench-quick` for a first look.
//
// Every system is a process of its own, fresh for each measurement, and the
// rounds are interleaved (A B C, A B C …), so that whatever the machine does
// meanwhile it does to all of them. What counts are ratios of medians. After
// each measurement of a system that records, the database is read: a run in
// which something acknowledged is missing, or more was sold than there is, is
// void, and says so instead of a number.
//
// Load comes from wrk and from bench/load, on the same machine as the servers,
// and shares its processors with them.
package main
