// Package client speaks to a Rushgate server. It stands alone: a shop that
// imports it gets net/http and nothing else.
//
//	rush, err := client.New("http://127.0.0.1:8080", client.WithToken(key))
//	claim, err := rush.Claim(ctx, "iphone-100s", client.Ask{User: "u1"})
//	if client.CodeOf(err) == client.SoldOut { … }
//
// # Answers that get lost
//
// A claim whose answer never arrived may or may not have been granted. The
// client asks again with the same idempotency key, and the server answers with
// the claim that the first attempt made, if it made one. So that this works
// every claim carries a key; the client makes one where the caller gave none.
// Only what can be repeated without doing it twice is repeated: a restock or
// the creation of a sale whose answer got lost is an error for the caller.
//
// All methods may be called from several goroutines, end when their context
// ends, and return an *Error.
package client

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client is a connection pool to one server. Make it with New.
type Client struct {
	base  string
	http  *http.Client
	token string
	retry Retry
	// attempt bounds one attempt of a call; streams of events have no such bound.
	attempt time.Duration
	newKey  func() string
}

// Retry says how a call is repeated when the server could not be reached, or
// said that it cannot answer now (429, 502, 503).
type Retry struct {
	// Attempts is how often a call is tried in all. 1 never repeats.
	Attempts int

	// Pause is the longest pause before the first repetition; it doubles with
	// each further one up to MaxPause. The pause taken is a random part of it,
	// so that a crowd that was turned away together does not return together.
	Pause    time.Duration
	MaxPause time.Duration

	// MaxRetryAfter bounds what the server's Retry-After may ask for. When it
	// asks for more, the call fails at once and its error carries the time.
	MaxRetryAfter time.Duration
}

// DefaultRetry tries a call four times within a few seconds.
func DefaultRetry() Retry {
	return Retry{Attempts: 4, Pause: 100 * time.Millisecond, MaxPause: 2 * time.Second, MaxRetryAfter: 5 * time.Second}
}

// Option changes a Client while New makes it.
type Option func(*Client)

// WithToken sends a bearer token: the admin token, a backend's API key, or a
// buyer's JWT.
func WithToken(token string) Option { return func(c *Client) { c.token = token } }

// WithHTTPClient uses another HTTP client, for proxies or certificates of
// one's own. It must not have a Timeout, which would end streams of events.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithRetry replaces DefaultRetry.
func WithRetry(r Retry) Option { return func(c *Client) { c.retry = r } }

// WithAttemptTimeout bounds each attempt of a call; the default is 15 seconds.
func WithAttemptTimeout(d time.Duration) Option { return func(c *Client) { c.attempt = d } }

// New makes a client of the server at baseURL, for example
// "http://127.0.0.1:8080". It connects to nothing yet.
func New(baseURL string, options ...Option) (*Client, error) {
	u, err := url.Parse(baseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, &Error{Code: Invalid, Field: "server", Cause: err,
			Message: "a server is given as http://HOST:PORT or https://HOST:PORT"}
	}
	c := &Client{base: strings.TrimRight(u.String(), "/"), retry: DefaultRetry(),
		attempt: 15 * time.Second, newKey: rand.Text}
	for _, o := range options {
		o(c)
	}
	if c.http == nil {
		c.http = &http.Client{Transport: newTransport()}
	}
	if r := c.retry; r.Attempts < 1 || r.Attempts > 100 || r.Pause < 0 || r.MaxPause < r.Pause || c.attempt <= 0 {
		return nil, &Error{Code: Invalid, Field: "retry",
			Message: "1 to 100 attempts, a pause of at least 0 and at most MaxPause, a positive attempt timeout"}
	}
	return c, nil
}

// newTransport keeps many connections to the one host it speaks to; the
// default transport keeps two.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns = 0 // bounded per host
	t.MaxIdleConnsPerHost = 512
	return t
}

// Close closes the connections that wait for use.
func (c *Client) Close() { c.http.CloseIdleConnections() }
