package lane

import (
	"bufio"
	"io"
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

	readBy, writeBy time.Time // the deadlines that are set; zero: none that counts

	mu      sync.Mutex
	waiting bool // for bytes from the client: no request has been read
}

// loop serves requests until the connection ends (false) or must be handed
// over (true).
func (c *conn) loop() (handOver bool) {
	for first := true; ; first = false {
		if !c.waitForRequest(first) {
			return false
		}
		n, verdict := c.read()
		if verdict != served {
			return verdict == notOurs
		}
		c.reply = Reply{Body: c.reply.Body[:0], header: c.reply.header[:0]}
		c.lane.cfg.Serve(&c.req, &c.reply)
		if c.lane.closing.Load() {
			c.reply.Last = true
		}
		if !c.answer() || c.reply.Last {
			return false
		}
		c.br.Discard(n)
	}
}

// answer writes the reply. It has its own time, however late in the idle time
// the request came and however long Serve took.
func (c *conn) answer() bool {
	now := time.Now()
	c.out = c.lane.appendReply(c.out[:0], &c.reply, now)
	if due(c.writeBy, now, c.lane.cfg.WriteTimeout) {
		c.writeBy = now.Add(c.lane.cfg.WriteTimeout)
		c.net.SetWriteDeadline(c.writeBy)
	}
	_, err := c.net.Write(c.out)
	if cap(c.out) > keptBytes {
		c.out, c.reply = nil, Reply{} // a rare long answer; the connection may live for days
	}
	return err == nil
}

// waitForRequest returns when the next request has begun. A stranger has not
// the time that somebody has who was served before.
func (c *conn) waitForRequest(first bool) bool {
	if c.br.Buffered() > 0 {
		return !c.lane.closing.Load()
	}
	if now := time.Now(); first {
		c.net.SetReadDeadline(now.Add(c.lane.cfg.ReadTimeout))
	} else if due(c.readBy, now, c.lane.cfg.IdleTimeout) {
		c.readBy = now.Add(c.lane.cfg.IdleTimeout)
		c.net.SetReadDeadline(c.readBy)
	}
	_, err := c.wait(1)
	return err == nil
}

// due says whether a deadline must be moved on. Moving one costs a timer, so
// it is done about once a second and not for each request.
func due(deadline, now time.Time, timeout time.Duration) bool {
	return deadline.Sub(now) <= timeout-min(time.Second, timeout/2)
}

// wait returns the next n bytes without consuming them. The end of the lane
// ends it: what has not been read need not be answered.
func (c *conn) wait(n int) ([]byte, error) {
	if !c.setWaiting(true) {
		return nil, net.ErrClosed
	}
	b, err := c.br.Peek(n)
	c.setWaiting(false)
	return b, err
}

// setWaiting marks the connection; it returns false when the lane is closing
// and nobody would wake a waiting connection any more.
func (c *conn) setWaiting(waiting bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = waiting
	return !waiting || !c.lane.closing.Load()
}

// wake ends the wait of a connection.
func (c *conn) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting {
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
		c.readBy = time.Time{} // so that the next wait sets its own
		switch buffered, err = c.wait(total); {
		case err == io.EOF:
			return 0, notOurs // cut off by a sender who may still listen: net/http has the words for it
		case err != nil:
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
func (l *Listener) appendReply(b []byte, r *Reply, now time.Time) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(r.Status), 10)
	b = append(b, ' ')
	b = append(b, http.StatusText(r.Status)...)
	b = append(b, "\r\n"...)
	b = append(b, r.header...)
	if r.Last {
		b = append(b, "Connection: close\r\n"...)
	}
	b = append(b, "Date: "...)
	b = append(b, l.dateOf(now)...)
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

// dateOf returns the Date header of a moment, made once a second.
func (l *Listener) dateOf(t time.Time) string {
	d := l.date.Load()
	if d == nil || d.second != t.Unix() {
		d = &dateLine{second: t.Unix(), line: t.UTC().Format(http.TimeFormat)}
		l.date.Store(d)
	}
	return d.line
}
