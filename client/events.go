package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"strconv"
	"time"
)

// Event is one state change of a sale or a claim. The events of a sale are
// numbered 1, 2, 3 … without gaps.
type Event struct {
	Seq   int64     `json:"seq"`
	Kind  string    `json:"kind"` // claim.held, claim.confirmed, sale.frozen, item.restocked, …
	Sale  string    `json:"sale"`
	At    time.Time `json:"at"`
	Claim *Claim    `json:"claim,omitempty"` // claim.*: the claim after the change
	Item  string    `json:"item,omitempty"`  // item.restocked
	Add   int64     `json:"add,omitempty"`   // item.restocked: units, negative when taken back

	// Raw is the event as the server sent it.
	Raw json.RawMessage `json:"-"`
}

// Events yields the events of a sale with a number above after, and then each
// new one as it happens, until ctx ends. A stream that breaks is taken up
// again after the last event; when that fails as often as Retry says, the
// error is yielded and the iteration ends. A number that is not the next one
// is an error, too: nothing is skipped in silence.
func (c *Client) Events(ctx context.Context, sale string, after int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := stream{client: c, sale: sale, last: after, yield: yield}
		for failures := 1; ; failures++ {
			before := s.last
			err := s.follow(ctx)
			switch {
			case s.ended:
				return
			case ctx.Err() != nil:
				yield(Event{}, unreachable(ctx.Err()))
				return
			}
			if s.last != before {
				failures = 1
			}
			var e *Error
			if !errors.As(err, &e) || !e.repeatable() || failures >= c.retry.Attempts {
				yield(Event{}, err)
				return
			}
			pause, ok := c.retry.pause(failures, e.RetryAfter)
			if !ok || wait(ctx, pause) != nil {
				yield(Event{}, err)
				return
			}
		}
	}
}

// stream is what must survive a broken connection: the last event taken.
type stream struct {
	client *Client
	sale   string
	last   int64
	yield  func(Event, error) bool
	ended  bool // the caller wants no more
}

// follow reads one connection to its end.
func (s *stream) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	path := salePath(s.sale, "/events?after="+strconv.FormatInt(s.last, 10))
	resp, failed := s.client.sendStream(ctx, path, s.last)
	if failed != nil {
		return failed
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if err != nil {
			return unreachable(err)
		}
		return errorOf(resp, body)
	}
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || kind != "text/event-stream" {
		return &Error{Code: Strange, Status: resp.StatusCode, Message: "the answer is not a stream of events"}
	}
	return s.read(resp.Body)
}

// sendStream opens a stream. A stream has no bound in time, but its head has.
func (c *Client) sendStream(ctx context.Context, path string, last int64) (*http.Response, *Error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return nil, &Error{Code: Invalid, Message: "the request cannot be made", Cause: err}
	}
	req.Header.Set("Accept", "text/event-stream")
	if last > 0 {
		req.Header.Set("Last-Event-ID", strconv.FormatInt(last, 10))
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, unreachable(err)
	}
	return resp, nil
}

// read takes events from a stream: fields of "name: value" lines, ended by an
// empty line (WHATWG HTML, 9.2 Server-sent events).
func (s *stream) read(body io.Reader) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	var data []byte
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) == 0 {
			if len(data) > 0 {
				if err := s.take(data); err != nil || s.ended {
					return err
				}
			}
			data = nil
			continue
		}
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if len(data) > 0 {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
		}
	}
	err := lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		return &Error{Code: Strange, Message: "an event is larger than 1 MiB"}
	}
	return &Error{Code: Unreachable, Message: "the stream of events ended", Cause: err}
}

func (s *stream) take(data []byte) error {
	e := Event{Raw: data}
	if err := json.Unmarshal(data, &e); err != nil || e.Seq == 0 {
		return &Error{Code: Strange, Message: "an event that is not of this API", Cause: err}
	}
	if e.Seq <= s.last {
		return nil // seen before the stream broke
	}
	if e.Seq != s.last+1 {
		return &Error{Code: Strange, Message: fmt.Sprintf("event %d came after event %d", e.Seq, s.last)}
	}
	s.last = e.Seq
	s.ended = !s.yield(e, nil)
	return nil
}
