package fleet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// Balancer is an http.RoundTripper that sends each request to one of the nodes
// that are ready, in turns, whatever host the request names. It asks every node
// for /readyz all the time. A node that cannot be connected to is passed over;
// what was sent and got no answer is the caller's to ask again.
type Balancer struct {
	nodes     []*Node
	transport *http.Transport
	turn      atomic.Uint64
	cancel    context.CancelFunc
	looking   sync.WaitGroup
}

// Base is the URL of the whole fleet, for a client that uses the balancer.
const Base = "http://fleet.invalid"

// How often a node is asked whether it is ready, and how long it may take to
// say so.
const (
	lookEvery = 50 * time.Millisecond
	lookWait  = 500 * time.Millisecond
)

func newBalancer(nodes []*Node) *Balancer {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 512
	ctx, cancel := context.WithCancel(context.Background())
	b := &Balancer{nodes: nodes, transport: t, cancel: cancel}
	for _, n := range nodes {
		b.looking.Go(func() { b.look(ctx, n) })
	}
	return b
}

func (b *Balancer) close() {
	b.cancel()
	b.looking.Wait()
	b.transport.CloseIdleConnections()
}

// look keeps in mind whether a node is ready.
func (b *Balancer) look(ctx context.Context, n *Node) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		n.ready.Store(b.isReady(ctx, n.URL()))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (b *Balancer) isReady(ctx context.Context, base string) bool {
	if base == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := b.transport.RoundTrip(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK
}

// RoundTrip sends a request to a node that is ready. If there is none, it
// answers for the fleet: 503, try again.
func (b *Balancer) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close() // each node gets a copy
	}
	first := b.turn.Add(1)
	for i := range b.nodes {
		n := b.nodes[(first+uint64(i))%uint64(len(b.nodes))]
		base := n.URL()
		if base == "" || !n.Ready() {
			continue
		}
		to, err := b.redirected(req, base)
		if err != nil {
			return nil, err
		}
		resp, err := b.transport.RoundTrip(to)
		if !refused(err) {
			return resp, err
		}
		n.ready.Store(false)
	}
	return nobody(req), nil
}

// redirected is the same request to another host. Without GetBody, http.Transport
// does not repeat it by itself.
func (b *Balancer) redirected(req *http.Request, base string) (*http.Request, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	to := req.Clone(req.Context())
	to.URL.Scheme, to.URL.Host, to.Host = u.Scheme, u.Host, ""
	if req.GetBody != nil {
		to.Body, err = req.GetBody()
		to.GetBody = nil
	}
	return to, err
}

// refused says that there was not even a connection: nothing was sent.
func refused(err error) bool {
	var e *net.OpError
	return errors.As(err, &e) && e.Op == "dial"
}

// nobody is the answer of a balancer that has nobody to ask.
func nobody(req *http.Request) *http.Response {
	body := []byte(`{"status":503,"code":"unavailable","detail":"no node is ready"}`)
	return &http.Response{Status: "503 Service Unavailable", StatusCode: http.StatusServiceUnavailable,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req, ContentLength: int64(len(body)),
		Header: http.Header{"Content-Type": {"application/problem+json"}, "Retry-After": {"1"}},
		Body:   io.NopCloser(bytes.NewReader(body))}
}
