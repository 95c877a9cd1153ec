// Package fleet runs several real servers that sell together, for tests and
// measurements: each a process of its own that is killed, paused and started
// again like any other, and before them a load balancer as simple as one can be.
package fleet
