// Package oncehttp makes requests repeatable: HTTP middleware for the
// Idempotency-Key of draft-ietf-httpapi-idempotency-key-header
// (https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/),
// on any store of package once. (The folder is http; a package of that name
// would hide net/http wherever both are used.)
//
//	keys, err := oncehttp.New(oncehttp.Config{Once: o, Scope: userOf})
//	mux.Handle("POST /orders", keys(placeOrder))
//
// What a client sees, for a request with a key:
//
//	the first one                         its answer
//	the same one again                    the same answer, with Idempotency-Replayed: true
//	another body, type, target or method  422 key_reused
//	the first one is being processed      waits for its answer; 409 in_progress with NoWait, or when it takes too long
//	no key, where one is Required         400 key_missing
//	a key that is none                    400 key_malformed
//	a body above MaxBody                  413 body_too_large
//	a body that ends too early            400 body_unreadable
//	too many wait, or the store is full   503 overloaded
//	nobody knows whether it was processed 503 unsettled: repeat it with the same key
//
// Answers below 500 are kept, with status, header and body: a 402 for a card that
// was refused stays a 402. An answer from 500 frees the key, and the next repetition
// is served anew; so does a panic, which goes on. A handler that is served anew may
// have done something before it failed, or before its process died: it must be
// idempotent, or use the token of AttemptOf, or do all it does in one transaction
// (see the documentation of package once, and DoTx of once/sql, which gives exactly
// once).
//
// The answer is collected before it is sent, up to MaxResult of the Once; streams
// are not for this middleware. If it is larger, the request counts as
// processed, and everybody gets 500 answer_too_large: raise MaxResult. Set-Cookie
// is kept like the rest, for the same Scope.
//
// When the client goes away, the handler's context ends, as without the
// middleware, although others may be waiting for the answer: the next of them is
// served. A handler that writes nothing, and whose context has ended, has given up: it
// is served anew. So one that is done writes a status; and one that gives up writes
// none below 500, for that would be kept.
package oncehttp
