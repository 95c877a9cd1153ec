// Package stage sets the lab up: private Redis, PostgreSQL and MariaDB where they
// are installed, or servers whose addresses are given; a clean place for every
// sale; and what the servers themselves count.
//
// On servers that are given, the lab keeps to itself: keys that begin with
// "rushgate-lab:", and databases of its own that begin with "rushgate_lab_" and are
// dropped at the end.
package stage
