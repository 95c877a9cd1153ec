package testenv

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// link is one connection through the proxy: in each direction a goroutine that
// reads and one that writes, with a queue of chunks between them.
type link struct {
	proxy *Proxy
	ends  [2]*net.TCPConn // by the direction that leads to them: server, client
	queue [2]chan chunk
	over  chan struct{} // closed by cut
	once  sync.Once

	// Guarded by the proxy's mutex:
	traffic [2]Traffic
	gap     bool // something was lost: bytes, or that a side has closed
}

// chunk is some bytes, or the end of them.
type chunk struct {
	bytes   []byte
	arrived time.Time
	end     error // io.EOF: closed; another: broken
}

// chunkBytes and chunks bound what a link holds.
const (
	chunkBytes = 16 << 10
	chunks     = 1024
)

func newLink(p *Proxy, client, server *net.TCPConn) *link {
	return &link{proxy: p, ends: [2]*net.TCPConn{server, client}, over: make(chan struct{}),
		queue: [2]chan chunk{make(chan chunk, chunks), make(chan chunk, chunks)}}
}

// run carries bytes until both sides have closed, or the link is cut.
func (l *link) run() {
	var readers, writers sync.WaitGroup
	for d := range l.ends {
		readers.Go(func() { l.read(d) })
		writers.Go(func() { l.write(d) })
	}
	writers.Wait()
	for _, conn := range l.ends {
		_ = conn.Close() // both sides know already
	}
	readers.Wait()
}

// read takes what comes from the other end.
func (l *link) read(d int) {
	from, buf := l.ends[1-d], make([]byte, chunkBytes)
	for {
		n, err := from.Read(buf)
		c := chunk{bytes: bytes.Clone(buf[:n]), arrived: time.Now(), end: err}
		l.count(d, func(t *Traffic) { t.Waiting += int64(n) })
		select {
		case l.queue[d] <- c:
		case <-l.over:
			return
		}
		if err != nil {
			return
		}
	}
}

// write gives to its end what the weather lets through.
func (l *link) write(d int) {
	to := l.ends[d]
	for {
		var c chunk
		select {
		case c = <-l.queue[d]:
		case <-l.over:
			return
		}
		switch l.await(d, c) {
		case lost:
			continue // after an end, too: who was not told of it keeps the connection
		case cutOff:
			return
		}
		// An end that takes no more is known to the other one by what it reads.
		n, _ := to.Write(c.bytes)
		l.count(d, func(t *Traffic) { t.Waiting -= int64(len(c.bytes)); t.Passed += int64(n) })
		switch {
		case c.end == nil:
		case errors.Is(c.end, io.EOF):
			_ = to.CloseWrite()
			return
		default:
			l.cut()
			return
		}
	}
}

// fate is what becomes of a chunk.
type fate int

const (
	passes fate = iota
	waits
	lost
	cutOff
)

// await waits until the fate of a chunk is known.
func (l *link) await(d int, c chunk) fate {
	for {
		f, wait, changed := l.fate(d, c)
		if f != waits {
			return f
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-changed:
		case <-l.over:
		}
		timer.Stop()
	}
}

// forever is longer than any test.
const forever = 24 * time.Hour

// fate asks the weather, and for how long to wait unless it changes. What is
// lost is counted in the same step, so that Heal sees every link with a gap, and
// nothing passes after one.
func (l *link) fate(d int, c chunk) (fate, time.Duration, <-chan struct{}) {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	select {
	case <-l.over:
		return cutOff, 0, nil
	default:
	}
	w, t := l.proxy.weather[d], &l.traffic[d]
	if w.swallow {
		t.Waiting -= int64(len(c.bytes))
		t.Lost += int64(len(c.bytes))
		l.gap = true
		return lost, 0, nil
	}
	if w.hold {
		return waits, forever, l.proxy.changed
	}
	if wait := w.delay - time.Since(c.arrived); wait > 0 {
		return waits, wait, l.proxy.changed
	}
	return passes, 0, nil
}

func (l *link) count(d int, change func(*Traffic)) {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	change(&l.traffic[d])
}

// cut resets the connection on both sides, and only then says that it is over:
// run would otherwise close it first, in a way that looks like a farewell.
func (l *link) cut() {
	l.once.Do(func() {
		for _, conn := range l.ends {
			cut(conn)
		}
		close(l.over)
	})
}

// cut closes a connection by a reset (RST) instead of a farewell (FIN).
func cut(conn *net.TCPConn) {
	_ = conn.SetLinger(0) // errors mean that the connection is gone
	_ = conn.Close()
}
