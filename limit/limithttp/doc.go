// Package limithttp holds HTTP requests to the rules of a limit.Joint.
//
// Every answer tells the rules and how the caller stands, in the fields
// RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers, version
// 09 and later). A request that is refused is answered 429 with Retry-After and
// a problem document (RFC 9457) whose code is rate_limited; the handler does not
// see it.
//
//	perUser, _ := limit.NewMemory(limit.GCRA(limit.PerSecond(10), 20), limit.MemoryOptions{})
//	rules, _ := limit.Alone("user", perUser)
//	limited, err := limithttp.New(rules, limithttp.Options{
//		Keys: []limithttp.Key{limithttp.Address(0)},
//		Away: limithttp.Pass,
//	})
//	http.ListenAndServe(addr, limited.Wrap(mux))
//
// What happens when the store gives no answer has no default: Options.Away says
// whether requests pass unlimited or are refused. Either way the wait is bounded
// by Options.Timeout.
//
// Whose limit a request counts against is said by a Key for each rule. Address
// takes the address of the peer, and believes X-Forwarded-For only as far as it
// was written by proxies whose number it is told.
package limithttp
