package load

import (
	"bufio"
	"context"
	"errors"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// connection is one keep-alive connection, used by one goroutine. It is dialed
// when it is first needed, and again after an error.
type connection struct {
	addr     string
	deadline time.Time // of everything: set once, because a timer for each request costs
	request  *template
	answer   fasthttp.Response

	tcp    net.Conn
	reader *bufio.Reader
	unhook func() bool // stops the watch over the context
}

// maxAnswerBytes bounds one answer; a batch of 1000 claims has about 200 KB.
const maxAnswerBytes = 4 << 20

func newConnection(addr string, request *template, deadline time.Time) *connection {
	return &connection{addr: addr, request: request.copy(), deadline: deadline,
		reader: bufio.NewReaderSize(nil, 4096)}
}

// dial opens the connection unless it is open.
func (c *connection) dial(ctx context.Context) error {
	if c.tcp != nil {
		return nil
	}
	dialer := net.Dialer{Deadline: c.deadline}
	tcp, err := dialer.DialContext(ctx, "tcp", c.addr)
	if err != nil {
		return err
	}
	if err := tcp.SetDeadline(c.deadline); err != nil {
		tcp.Close()
		return err
	}
	c.tcp = tcp
	c.reader.Reset(tcp)
	c.unhook = context.AfterFunc(ctx, func() { tcp.Close() })
	return nil
}

// exchange sends one request and reads its answer, which stands in c.answer
// until the next call. With errNotSent the server knows nothing of the
// request; after any other error it is unknown what the server did.
func (c *connection) exchange(ctx context.Context, u *users) error {
	if err := c.dial(ctx); err != nil {
		return errNotSent
	}
	c.request.fill(u)
	_, err := c.tcp.Write(c.request.bytes)
	if err == nil {
		err = c.answer.ReadLimitBody(c.reader, maxAnswerBytes)
	}
	if err != nil || c.answer.ConnectionClose() {
		c.close()
	}
	return err
}

var errNotSent = errors.New("no connection")

func (c *connection) close() {
	if c.tcp != nil {
		c.unhook()
		c.tcp.Close()
		c.tcp = nil
	}
}
