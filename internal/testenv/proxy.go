package testenv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy stands between clients and a server and does to their connections what
// networks do: cuts them, refuses new ones, delays bytes, holds them back or
// loses them. A client dials Addr instead of the server.
//
// What is asked for applies to all connections, old and new, from the moment at
// which the method returns; bytes that were already on their way may still
// arrive. The methods may be called by several goroutines.
type Proxy struct {
	Addr string // host:port, the same for its whole life

	dialing context.Context // ends with Close
	endDial context.CancelFunc
	all     sync.WaitGroup // of goroutines

	mu       sync.Mutex // guards the rest
	server   string     // that new connections go to
	listener net.Listener
	closed   bool
	weather  [2]weather
	changed  chan struct{} // closed and replaced when the weather changes
	links    map[*link]struct{}
	past     [2]Traffic // of connections that are over
}

// Direction is where bytes go.
type Direction int

// A connection has two directions; Both stands for the pair.
const (
	ToServer Direction = 1 << iota
	ToClient
	Both = ToServer | ToClient
)

// weather is what happens to bytes in one direction.
type weather struct {
	delay         time.Duration
	hold, swallow bool
}

// Traffic counts bytes in one direction.
type Traffic struct {
	Passed  int64 // went through
	Lost    int64 // swallowed
	Waiting int64 // delayed or held back at this moment
}

// maxLinks bounds the connections at a time: with more, the proxy would be what
// is tested.
const maxLinks = 4096

// NewProxy starts a proxy in front of a server's address, which ends with the
// test.
func NewProxy(t testing.TB, server string) *Proxy {
	t.Helper()
	p, err := StartProxy(server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// StartProxy starts a proxy in front of a server's address, which need not
// answer yet. The caller closes it.
func StartProxy(server string) (*Proxy, error) {
	p := &Proxy{server: server, changed: make(chan struct{}), links: map[*link]struct{}{}}
	p.dialing, p.endDial = context.WithCancel(context.Background())
	err := onFreePort(func(port int) error {
		p.Addr = loopback(port)
		return p.listen()
	})
	if err != nil {
		p.endDial()
		return nil, err
	}
	return p, nil
}

// listen is called with p.mu held, or before anybody knows p.
func (p *Proxy) listen() error {
	l, err := net.Listen("tcp", p.Addr)
	if err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	p.listener = l
	p.all.Go(func() {
		for {
			conn, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil { // otherwise there are too many files open: the next one may have more luck
				p.all.Go(func() { p.serve(conn.(*net.TCPConn)) })
			}
		}
	})
	return nil
}

// serve connects a client with the server, until one of them or the proxy ends
// it. A client whose server cannot be reached is cut off.
func (p *Proxy) serve(client *net.TCPConn) {
	p.mu.Lock()
	server := p.server
	p.mu.Unlock()
	dialer := net.Dialer{Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(p.dialing, "tcp", server)
	if err != nil {
		cut(client)
		return
	}
	l := newLink(p, client, conn.(*net.TCPConn))
	p.mu.Lock()
	welcome := !p.closed && len(p.links) < maxLinks
	if welcome {
		p.links[l] = struct{}{}
	}
	p.mu.Unlock()
	if !welcome {
		l.cut()
		return
	}
	l.run()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
	for d := range p.past {
		p.past[d].Passed += l.traffic[d].Passed
		p.past[d].Lost += l.traffic[d].Lost
	}
}

// Cut resets all connections on both sides (RST) and returns how many there
// were. New ones are welcome.
func (p *Proxy) Cut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.cut()
	}
	return len(p.links)
}

// Lead lets new connections go to another server: an address that moves, as
// behind a balancer when a replica takes over. Those that are open stay where
// they are; Cut ends them.
func (p *Proxy) Lead(server string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server = server
}

// Refuse lets nobody in until Heal: a dial is answered by "connection refused".
// Connections that are open stay so.
func (p *Proxy) Refuse() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener == nil {
		return nil
	}
	err := p.listener.Close()
	p.listener = nil
	return err
}

// Delay lets every byte that goes in a direction arrive so much later. What the
// connection holds meanwhile is bounded by 16 MiB in each direction; who
// sends more has to wait.
func (p *Proxy) Delay(way Direction, by time.Duration) {
	p.turn(way, func(w *weather) { w.delay = by })
}

// Hold keeps all bytes that go in a direction, and the news that a side has
// closed, until Heal: then they arrive, late and in order. So a request can
// reach its server long after its client has given up.
func (p *Proxy) Hold(way Direction) {
	p.turn(way, func(w *weather) { w.hold = true })
}

// Swallow loses all bytes that go in a direction, and the news that a side has
// closed: connections are half-open, and nobody is told.
func (p *Proxy) Swallow(way Direction) {
	p.turn(way, func(w *weather) { w.swallow = true })
}

// turn changes the weather.
func (p *Proxy) turn(way Direction, change func(*weather)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turnLocked(way, change)
}

func (p *Proxy) turnLocked(way Direction, change func(*weather)) {
	for d := range p.weather {
		if way&(1<<d) != 0 {
			change(&p.weather[d])
		}
	}
	close(p.changed)
	p.changed = make(chan struct{})
}

// Heal ends all that was asked for: what waits is delivered, and new connections
// are welcome. Connections that have lost bytes are reset, as what comes after a
// gap is never delivered.
func (p *Proxy) Heal() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turnLocked(Both, func(w *weather) { *w = weather{} })
	for l := range p.links {
		if l.gap {
			l.cut()
		}
	}
	if p.listener != nil || p.closed {
		return nil
	}
	return until(politeness, nil, p.listen)
}

// Open returns how many connections there are.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Traffic returns what went in a direction since the start, by all connections.
func (p *Proxy) Traffic(way Direction) (sum Traffic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for d := range p.past {
		if way&(1<<d) == 0 {
			continue
		}
		sum.add(p.past[d])
		for l := range p.links {
			sum.add(l.traffic[d])
		}
	}
	return sum
}

func (t *Traffic) add(other Traffic) {
	t.Passed += other.Passed
	t.Lost += other.Lost
	t.Waiting += other.Waiting
}

// Close resets all connections, ends the proxy and waits for it. It may be
// called again.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	for l := range p.links {
		l.cut()
	}
	p.mu.Unlock()
	p.endDial()
	_ = p.Refuse() // the listener is gone either way
	p.all.Wait()
}
