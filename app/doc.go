// Package app puts the program together: configuration in, a running server
// out. It is the only package that knows the gate, the ledger, the engine and
// the server at the same time.
//
//	program, err := app.Open(ctx, app.Defaults(), log)
//	err = program.Run(ctx) // until ctx ends, then in good order
//
// A test starts the real thing the same way, on port 0.
package app
