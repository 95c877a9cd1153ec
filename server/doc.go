// Package server speaks HTTP for a rushgate.Service: the buyers' and the
// operators' API, health and metrics, the event stream, and the documents that
// describe them. It knows the service, and neither gates nor ledgers.
//
// Start reading at the table in routes.go. Every request goes through serve in
// server.go, except for the one that a stampede consists of: a claim has a path
// of its own, in claim.go, that does nothing it does not need.
package server
