// Package load sends claims to a server and measures what comes back.
//
// It has two modes. In the open loop the moments at which requests are due are
// fixed before the first one is sent, and no answer, however late, moves them:
// latency is measured from the moment at which a request was due, not from the
// one at which it went out. A server that stalls for a second is charged with
// that second for every request that was due meanwhile. (Gil Tene calls the
// error that this avoids coordinated omission.) In the closed loop every
// connection sends as soon as its last answer has come: that finds the maximum
// rate, and says little about latency.
//
// Every request is one of a different user. What was accepted, what was
// refused and why, and what got no answer are counted apart.
//
// The generator shares the machine with the server that it measures, so it is
// built to be cheap: a request is a template of bytes in which only the user
// changes, answers are read by fasthttp's codec, and nothing is allocated for
// an exchange.
package load
