package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// call is one request, which may take several attempts.
type call struct {
	method string
	path   string
	key    string // Idempotency-Key
	body   any    // nil: none
	into   any    // nil: the answer does not matter
	// once forbids repeating: doing it twice would be something else.
	once bool
}

// maxAnswer bounds what is read of an answer: a thousand claims are about 300 KB.
const maxAnswer = 16 << 20

// do makes attempts until there is an answer that is not "later".
func (c *Client) do(ctx context.Context, k call) error {
	var body []byte
	if k.body != nil {
		var err error
		if body, err = json.Marshal(k.body); err != nil {
			return &Error{Code: Invalid, Message: "the request cannot be written as JSON", Cause: err}
		}
	}
	for attempt := 1; ; attempt++ {
		err := c.try(ctx, k, body)
		if err == nil {
			return nil
		}
		if k.once || attempt >= c.retry.Attempts || !err.repeatable() || ctx.Err() != nil {
			return err
		}
		pause, ok := c.retry.pause(attempt, err.RetryAfter)
		if !ok || wait(ctx, pause) != nil {
			return err
		}
	}
}

// repeatable says that another attempt may have another result.
func (e *Error) repeatable() bool {
	switch e.Status {
	case 0:
		return e.Code == Unreachable
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable:
		return true
	}
	return e.Code == Unreachable // an answer that broke off
}

// pause returns how long to wait after so many attempts; false if the server
// asks for more patience than there is.
func (r Retry) pause(attempt int, after time.Duration) (time.Duration, bool) {
	if after > r.MaxRetryAfter {
		return 0, false
	}
	longest := r.MaxPause
	if doublings := attempt - 1; doublings < 32 && r.Pause < r.MaxPause>>doublings {
		longest = r.Pause << doublings
	}
	var jitter time.Duration
	if longest > 0 {
		jitter = rand.N(longest)
	}
	return after + jitter, true
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// try makes one attempt.
func (c *Client) try(ctx context.Context, k call, body []byte) *Error {
	ctx, cancel := context.WithTimeout(ctx, c.attempt)
	defer cancel()
	resp, failed := c.send(ctx, k, body)
	if failed != nil {
		return failed
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return &Error{Code: Unreachable, Status: resp.StatusCode, Message: "the answer broke off", Cause: err}
	case len(answer) > maxAnswer:
		return &Error{Code: Strange, Status: resp.StatusCode, Message: fmt.Sprintf("the answer is larger than %d bytes", maxAnswer)}
	case resp.StatusCode >= 300:
		return errorOf(resp, answer)
	case k.into == nil:
		return nil
	}
	if err := json.Unmarshal(answer, k.into); err != nil {
		return &Error{Code: Strange, Status: resp.StatusCode, Message: "the answer is not the JSON of this API", Cause: err}
	}
	return nil
}

// send sends a request and returns the response as soon as its head is there.
func (c *Client) send(ctx context.Context, k call, body []byte) (*http.Response, *Error) {
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, k.method, c.base+k.path, r)
	if err != nil {
		return nil, &Error{Code: Invalid, Message: "the request cannot be made", Cause: err}
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if k.key != "" {
		req.Header.Set("Idempotency-Key", k.key)
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

func unreachable(err error) *Error {
	e := &Error{Code: Unreachable, Message: "there was no answer", Cause: err}
	if errors.Is(err, context.DeadlineExceeded) {
		e.Message = "there was no answer in time"
	}
	return e
}

// retryAfter reads the header, in seconds or as a date.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if v == "" {
		return 0
	}
	if s, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(s) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
