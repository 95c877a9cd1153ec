package lane

import (
	"bufio"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// conn is one connection that the lane serves.
type conn struct {
	net  net.Conn
	br   *bufio.Reader
	lane *Listener

	req   Request
	reply Reply
	out   []byte

	refreshed time.Time // when the deadline was set last

	mu   sync.Mutex
	idle bool // waiting for the first byte of a request
}

// loop serves requests until the connection ends (false) or must be handed
// over (true).
func (c *conn) loop() (handOver bool) {
	for {
		if !c.waitForRequest() {
			return false
		}
		n, verdict := c.read()
		if verdict != served {
			return verdict == notOurs
		}
		c.reply = Reply{Body: c.reply.Body[:0], header: c.reply.header[:0]}
		c.lane.cfg.Serve(&c.req, &c.reply)
		closing := c.lane.closing.Load()
		c.out = c.lane.appendReply(c.out[:0], &c.reply, closing)
		if _, err := c.net.Write(c.out); err != nil || closing {
			return false
		}
		c.br.Discard(n)
	}
}

// waitForRequest returns when the next request has begun.
func (c *conn) waitForRequest() bool {
	if c.br.Buffered() > 0 {
		return !c.lane.closing.Load()
	}
	c.refresh(time.Now())
	if !c.setIdle(true) {
		return false
	}
	_, err := c.br.Peek(1)
	c.setIdle(false)
	return err == nil
}

// refresh moves the deadline for reading and writing on. It costs a timer, so
// it is done about once a second and not for each request.
func (c *conn) refresh(now time.Time) {
	if now.Sub(c.refreshed) >= time.Second {
		c.net.SetDeadline(now.Add(c.lane.cfg.IdleTimeout))
		c.refreshed = now
	}
}

// setIdle marks the connection; it returns false when the lane is closing and
// nobody would wake an idle connection any more.
func (c *conn) setIdle(idle bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = idle
	return !idle || !c.lane.closing.Load()
}

// wake ends the wait of an idle connection.
func (c *conn) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle {
		c.net.SetReadDeadline(time.Unix(1, 0))
	}
}

type verdict int

const (
	served  verdict = iota // c.req is complete
	notOurs                // net/http must look at it
	broken                 // the connection ended in the middle
)

// read takes a request apart without consuming it, and returns its length.
func (c *conn) read() (int, verdict) {
	buffered, err := c.br.Peek(c.br.Buffered())
	if err != nil {
		return 0, broken
	}
	head, length, ok := parse(buffered, &c.req, c.lane.cfg.Match)
	total := head + length
	if !ok || total > bufferSize {
		return 0, notOurs
	}
	if total > len(buffered) {
		c.net.SetReadDeadline(time.Now().Add(c.lane.cfg.ReadTimeout))
		c.refreshed = time.Time{} // so that the next wait sets its own
		if buffered, err = c.br.Peek(total); err != nil {
			return 0, broken
		}
		if _, _, ok := parse(buffered, &c.req, c.lane.cfg.Match); !ok { // the buffer has moved
			return 0, notOurs
		}
	}
	c.req.Body = buffered[head:total]
	return total, served
}

// appendReply writes an HTTP/1.1 response.
func (l *Listener) appendReply(b []byte, r *Reply, closing bool) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(r.Status), 10)
	b = append(b, ' ')
	b = append(b, http.StatusText(r.Status)...)
	b = append(b, "\r\n"...)
	b = append(b, r.header...)
	if closing {
		b = append(b, "Connection: close\r\n"...)
	}
	b = append(b, "Date: "...)
	b = append(b, l.now().line...)
	b = append(b, "\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(len(r.Body)), 10)
	b = append(b, "\r\n\r\n"...)
	return append(b, r.Body...)
}

// dateLine is a second and how HTTP writes it.
type dateLine struct {
	second int64
	line   string
}

// now returns the Date header of this second, made once a second.
func (l *Listener) now() *dateLine {
	t := time.Now()
	d := l.date.Load()
	if d == nil || d.second != t.Unix() {
		d = &dateLine{second: t.Unix(), line: t.UTC().Format(http.TimeFormat)}
		l.date.Store(d)
	}
	return d
}
