package lane

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// The tests of this file run in a bubble whose clock moves when everybody
// waits: what is said of time is exact, and takes none.

var waits = strings.Replace(plain, "2\r\n", "4\r\n", 1)[:len(plain)-2] + "wait"

// pipes is a listener of connections without a network. What is sent as an
// error is what Accept fails with.
type pipes struct {
	next   chan any // net.Conn or error
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case next := <-p.next:
		if c, ok := next.(net.Conn); ok {
			return c, nil
		}
		return nil, next.(error)
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

// bubble is a lane inside a bubble. It answers "wait" after a time, "big" with
// a long body and everything else with "ok".
type bubble struct {
	*testing.T
	*Listener
	pipes *pipes
	began time.Time
	serve time.Duration // what "wait" takes
}

func inBubble(t *testing.T, cfg Config, story func(b *bubble)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{T: t, pipes: &pipes{next: make(chan any), closed: make(chan struct{})}, began: time.Now()}
		cfg.Match = match
		cfg.Serve = func(r *Request, reply *Reply) {
			reply.Status = 201
			switch string(r.Body) {
			case "wait":
				<-time.After(b.serve)
				reply.Body = append(reply.Body, "late"...)
			case "big":
				reply.Body = append(reply.Body, make([]byte, 10*keptBytes)...)
			default:
				reply.Body = append(reply.Body, "ok"...)
			}
		}
		b.Listener = Listen(b.pipes, cfg)
		story(b)
		if !b.closing.Load() {
			if err := b.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
}

func (b *bubble) dial() (net.Conn, *bufio.Reader) {
	client, server := net.Pipe()
	b.pipes.next <- server
	b.Cleanup(func() { client.Close() })
	return client, bufio.NewReader(client)
}

// closedAt expects the connection to be closed so long after the story began.
func (b *bubble) closedAt(br *bufio.Reader, want time.Duration) {
	b.Helper()
	if _, err := br.ReadByte(); err != io.EOF {
		b.Errorf("%v, want the connection closed", err)
	}
	if took := time.Since(b.began); took != want {
		b.Errorf("closed after %v, want %v", took, want)
	}
}

func TestARequestAtTheEndOfTheIdleTimeHasTimeForItsAnswer(t *testing.T) {
	for name, request := range map[string]string{"alone": waits, "buffered behind another": plain + waits} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{IdleTimeout: time.Minute, WriteTimeout: 10 * time.Second}, func(b *bubble) {
				b.serve = time.Hour // the desk commits, slowly
				conn, br := b.dial()
				io.WriteString(conn, plain)
				answer(b.T, br)
				<-time.After(time.Minute - time.Millisecond)
				go io.WriteString(conn, request)
				if request != waits {
					answer(b.T, br)
				}
				if _, got := answer(b.T, br); got != "late" {
					b.Errorf("got %q", got)
				}
			})
		})
	}
}

func TestAClientThatDoesNotReadIsCutOff(t *testing.T) {
	inBubble(t, Config{WriteTimeout: 20 * time.Second}, func(b *bubble) {
		conn, _ := b.dial()
		io.WriteString(conn, plain)
		_, err := io.WriteString(conn, plain) // it blocks until the lane's end is closed
		if took := time.Since(b.began); !errors.Is(err, io.ErrClosedPipe) || took != 20*time.Second {
			b.Errorf("%v after %v", err, took)
		}
	})
}

func TestTimeOfANewAndOfAKnownConnection(t *testing.T) {
	inBubble(t, Config{IdleTimeout: time.Minute, ReadTimeout: 10 * time.Second}, func(b *bubble) {
		_, silent := b.dial()
		known, knownAnswers := b.dial()
		io.WriteString(known, plain)
		answer(b.T, knownAnswers)
		b.closedAt(silent, 10*time.Second)
		b.closedAt(knownAnswers, time.Minute)
	})
}

func TestABodyThatNeverComes(t *testing.T) {
	inBubble(t, Config{IdleTimeout: time.Minute, ReadTimeout: 10 * time.Second}, func(b *bubble) {
		conn, br := b.dial()
		io.WriteString(conn, plain)
		answer(b.T, br)
		<-time.After(20 * time.Second)
		io.WriteString(conn, plain[:len(plain)-1])
		b.closedAt(br, 30*time.Second)
	})
}

func TestTheIdleTimeBeginsAnewWithEachRequest(t *testing.T) {
	inBubble(t, Config{IdleTimeout: time.Minute}, func(b *bubble) {
		conn, br := b.dial()
		for range 10 {
			io.WriteString(conn, plain)
			answer(b.T, br)
			<-time.After(58 * time.Second) // it is exact to a second
		}
	})
}

func TestShutdownDoesNotWaitForTheRestOfARequest(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.serve = time.Second
		partial, partialAnswer := b.dial()
		io.WriteString(partial, plain[:len(plain)-1])
		_, idle := b.dial()
		busy, busyAnswer := b.dial()
		io.WriteString(busy, waits)
		synctest.Wait()
		ended := make(chan error, 1)
		go func() { ended <- b.Shutdown(context.Background()) }()
		b.closedAt(partialAnswer, 0)
		b.closedAt(idle, 0)
		if resp, got := answer(b.T, busyAnswer); got != "late" || !resp.Close {
			b.Errorf("%q, close %v", got, resp.Close)
		}
		if err := <-ended; err != nil {
			b.Error(err)
		}
		if took := time.Since(b.began); took != b.serve {
			b.Errorf("Shutdown took %v, the one request that was read %v", took, b.serve)
		}
	})
}

func TestShutdownCutsWhenItsTimeIsOver(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.serve = time.Hour
		busy, busyAnswer := b.dial()
		io.WriteString(busy, waits)
		ctx, cancel := context.WithTimeout(b.Context(), time.Second)
		defer cancel()
		if err := b.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			b.Errorf("got %v", err)
		}
		b.closedAt(busyAnswer, time.Second)
		b.running.Wait() // what was in Serve ends by itself
		if took := time.Since(b.began); took != time.Hour {
			b.Errorf("ended after %v", took)
		}
	})
}

func acceptError(errno syscall.Errno) error {
	return &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", errno)}
}

func TestAFullHouseIsToldAndPasses(t *testing.T) {
	var log strings.Builder
	inBubble(t, Config{Log: slog.New(slog.NewTextHandler(&log, nil))}, func(b *bubble) {
		passing := []error{acceptError(syscall.EMFILE), acceptError(syscall.ENFILE), &net.OpError{Op: "accept", Err: syscall.ECONNABORTED}}
		for _, err := range passing {
			b.pipes.next <- err
		}
		conn, br := b.dial()
		io.WriteString(conn, plain)
		if _, got := answer(b.T, br); got != "ok" {
			b.Errorf("got %q", got)
		}
		for _, err := range passing {
			if !strings.Contains(log.String(), err.Error()) {
				b.Errorf("the log does not tell of %v: %s", err, log.String())
			}
		}
	})
}

func TestABrokenListenerEndsTheLane(t *testing.T) {
	for _, broken := range []error{acceptError(syscall.EINVAL), errors.New("broken")} {
		inBubble(t, Config{}, func(b *bubble) {
			b.pipes.next <- broken
			if _, err := b.Accept(); err != broken {
				b.Errorf("Accept returned %v", err)
			}
		})
	}
}

func TestMemoryForALongAnswerIsNotKept(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		client, br := b.dial()
		for _, body := range []string{"big", "hi"} {
			fmt.Fprintf(client, "POST /v1/sales/x/claims HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			answer(b.T, br)
			synctest.Wait() // the lane waits for the next request
			b.each(func(c *conn) {
				if n := cap(c.out) + cap(c.reply.Body); n > 2*keptBytes {
					b.Errorf("after %q the connection keeps %d bytes", body, n)
				}
			})
		}
	})
}
