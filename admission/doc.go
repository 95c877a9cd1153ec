// Package admission is what comes before the desk: who is asking.
//
// An [Identity] turns the Authorization header of a request into a [Caller].
// There are three: [Dev] believes everybody, [TrustedBackend] knows a trusted shop
// server by its API key, and [JWT] knows buyers by signed tokens. What a caller
// may do is decided in caller.go, and nowhere else.
package admission
