// Package lane is an express lane in front of net/http: a listener that serves
// one kind of small, plain HTTP/1.1 request by itself and passes every other
// connection on to an http.Server.
//
// # What it serves
//
// A request is served here only if all of it is plain: POST, HTTP/1.1, a path
// that Config.Match wants, one Host, one Content-Length, headers of ordinary
// characters, nothing that asks for special treatment (Transfer-Encoding,
// Expect, Connection, Upgrade, Trailer, Content-Encoding), nothing that a page
// of another origin could have sent, and all of it together no larger than
// 4 KiB. Nothing is consumed from a connection before that is certain. Anything
// else, and every malformed request, is net/http's: the connection is handed
// over with all its bytes, and stays there. So the lane has no error answers
// and no second opinion on HTTP; a fuzz test holds what it accepts against
// http.ReadRequest.
//
// # Why
//
// net/http spends about half of the CPU that a claim costs on generality that
// a claim does not use. docs/adr/0003-express-lane.md has the figures.
//
// # Goroutines and lifecycle
//
// One goroutine accepts, one serves each connection. A connection that is
// handed over leaves its goroutine. Shutdown stops accepting, lets every
// request that has been read be answered, closes the connections that wait for
// one or for the rest of one, and returns when all goroutines have ended, or
// when its context has.
package lane

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// bufferSize bounds a request of the lane, headers and body together.
const bufferSize = 4096

// keptBytes bounds the memory for answers that a connection keeps for the next one.
const keptBytes = 16 << 10

// Config says what the lane serves.
type Config struct {
	// Match says whether requests for a path are served here. The path has no
	// query and only letters, digits and "-._~/".
	Match func(path []byte) bool

	// Serve answers one request. It fills in the reply, whose Body is empty and
	// has room to append to; it must not keep anything of r.
	Serve func(r *Request, reply *Reply)

	// IdleTimeout is how long a connection may wait for its next request.
	// Default 2 minutes.
	IdleTimeout time.Duration

	// ReadTimeout is how long a new connection may wait with its first
	// request, and how long the rest of a request may take after its headers.
	// Default 10 seconds.
	ReadTimeout time.Duration

	// WriteTimeout is how long a client may take to receive an answer.
	// Default 1 minute.
	WriteTimeout time.Duration

	// Log receives errors of the listener that pass by themselves.
	// Default: nowhere.
	Log *slog.Logger
}

// Request is one request. All of it is only valid until Serve returns.
type Request struct {
	Path           []byte
	ContentType    []byte
	Authorization  []byte
	IdempotencyKey []byte
	RequestID      []byte // X-Request-Id
	Body           []byte

	// Browser says that a browser sent it (Sec-Fetch-Site), from a page of
	// this very origin.
	Browser bool
}

// Reply is the answer to a request.
type Reply struct {
	Status int
	Body   []byte
	Last   bool // the connection is closed after it, and the answer says so

	header []byte
}

// AddHeader adds a header. Date, Content-Length and Connection come by
// themselves.
func (r *Reply) AddHeader(name, value string) {
	r.header = append(r.header, name...)
	r.header = append(r.header, ": "...)
	r.header = append(r.header, value...)
	r.header = append(r.header, crlf...)
}

// Listener is the net.Listener for the http.Server behind the lane: it yields
// the connections that the lane does not serve.
type Listener struct {
	cfg   Config
	inner net.Listener
	pass  chan net.Conn
	ended chan struct{} // Close was called, or the inner listener failed
	why   error         // set before ended is closed

	once    sync.Once
	closing atomic.Bool
	running sync.WaitGroup

	mu    sync.Mutex
	conns map[*conn]struct{} // served here

	date atomic.Pointer[dateLine]
}

// Listen puts a lane in front of a listener, which it owns from now on.
func Listen(inner net.Listener, cfg Config) *Listener {
	if cfg.IdleTimeout == 0 {
		cfg.IdleTimeout = 2 * time.Minute
	}
	if cfg.ReadTimeout == 0 {
		cfg.ReadTimeout = 10 * time.Second
	}
	if cfg.WriteTimeout == 0 {
		cfg.WriteTimeout = time.Minute
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	l := &Listener{cfg: cfg, inner: inner, pass: make(chan net.Conn), ended: make(chan struct{}), conns: map[*conn]struct{}{}}
	l.running.Go(l.accept)
	return l
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.pass:
		return c, nil
	case <-l.ended:
		return nil, l.why
	}
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return l.inner.Addr() }

// Close implements net.Listener: nothing is accepted any more. Connections
// that the lane serves go on until Shutdown.
func (l *Listener) Close() error {
	err := l.inner.Close()
	l.end(net.ErrClosed)
	return err
}

func (l *Listener) end(why error) {
	l.once.Do(func() { l.why = why; close(l.ended) })
}

// Shutdown closes the listener, lets what was read be answered, and ends every
// connection of the lane. When ctx ends first, the connections are cut, and
// the error is that of ctx; a goroutine that is still in Serve ends when Serve
// returns.
func (l *Listener) Shutdown(ctx context.Context) error {
	l.closing.Store(true)
	err := l.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	l.each(func(c *conn) { c.wake() })
	done := make(chan struct{})
	go func() { l.running.Wait(); close(done) }()
	select {
	case <-done:
		return err
	case <-ctx.Done():
		l.each(func(c *conn) { c.net.Close() })
		return ctx.Err()
	}
}

func (l *Listener) each(do func(*conn)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		do(c)
	}
}

func (l *Listener) accept() {
	var pause time.Duration
	for {
		c, err := l.inner.Accept()
		if err == nil {
			pause = 0
			l.running.Go(func() { l.serve(c) })
			continue
		}
		if !temporary(err) {
			l.end(err)
			return
		}
		// Wait as net/http does, not in a spin.
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		l.cfg.Log.Warn("a connection could not be accepted; trying again", "error", err, "pause", pause)
		select {
		case <-time.After(pause):
		case <-l.ended:
			return
		}
	}
}

// temporary tells a full house (no file descriptor is free, a client left
// before it was let in) from a door that is closed or broken, as net/http does.
func temporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

// serve answers the requests of one connection, until it ends or has to be
// handed over.
func (l *Listener) serve(nc net.Conn) {
	c := &conn{net: nc, br: bufio.NewReaderSize(nc, bufferSize), lane: l}
	if !l.keep(c) {
		nc.Close()
		return
	}
	handOver := c.loop()
	l.mu.Lock()
	delete(l.conns, c)
	l.mu.Unlock()
	if !handOver {
		nc.Close()
		return
	}
	nc.SetDeadline(time.Time{}) // net/http sets its own
	select {
	case l.pass <- &passed{Conn: nc, r: c.br}:
	case <-l.ended:
		nc.Close()
	}
}

func (l *Listener) keep(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing.Load() {
		return false
	}
	l.conns[c] = struct{}{}
	return true
}

// passed is a connection with the bytes that were looked at already.
type passed struct {
	net.Conn
	r *bufio.Reader
}

// Read implements io.Reader.
func (p *passed) Read(b []byte) (int, error) {
	if p.r != nil {
		if p.r.Buffered() > 0 {
			return p.r.Read(b)
		}
		p.r = nil // its 4 KiB are not needed any more
	}
	return p.Conn.Read(b)
}
