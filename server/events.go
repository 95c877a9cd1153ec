package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"rushgate"
)

// The event stream (server-sent events, HTML Living Standard, section 9.2).
// Events are read from the ledger, so a stream needs no buffer of its own
// beyond one page, loses nothing, and can be taken up again anywhere.

// eventPage is how many events are read and written at once.
const eventPage = 256

// events answers GET /v1/sales/{sale}/events?after=SEQ.
func (s *Server) events(c *call) (int, error) {
	after, err := c.resumeAt()
	if err != nil {
		return 0, err
	}
	if !s.streams.begin(s.stopping) {
		return 0, &rushgate.Error{Code: rushgate.Unavailable, Message: "the server is stopping", RetryAfter: time.Second}
	}
	defer s.streams.end()
	sale := c.r.PathValue("sale")
	if _, err := c.service.Events(c.r.Context(), sale, after, 1); err != nil {
		return 0, err // an unknown sale: still a problem document
	}
	st := &stream{call: c, server: s, sale: sale, after: after, control: http.NewResponseController(c.w)}
	if err := st.run(c.r.Context()); err != nil && !errors.Is(err, context.Canceled) {
		s.log.Debug("an event stream ended", "sale", sale, "after", st.after, "error", err)
	}
	return http.StatusOK, nil
}

// resumeAt returns the number of the last event that the reader has. A browser
// that reconnects says it in Last-Event-ID, and keeps the query of the first time.
func (c *call) resumeAt() (int64, error) {
	query, err := c.query("after")
	if err != nil {
		return 0, err
	}
	text := c.r.Header.Get("Last-Event-ID")
	if text == "" {
		text = query.Get("after")
	}
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, invalid("after", "must be the number of an event, 0 or more")
	}
	return n, nil
}

// stream is one reader of events.
type stream struct {
	*call
	server  *Server
	sale    string
	after   int64
	control *http.ResponseController
}

func (st *stream) run(ctx context.Context) error {
	// The read deadline of the server is for requests; this one lasts.
	if err := st.control.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	h := st.w.Header()
	h["Content-Type"] = []string{"text/event-stream"}
	h["X-Accel-Buffering"] = []string{"no"} // for nginx: pass it on at once
	st.w.WriteHeader(http.StatusOK)
	if err := st.write([]byte(": the events of sale " + st.sale + "\n\n")); err != nil {
		return err
	}
	ticks, stop := st.server.heartbeat()
	defer stop()
	for {
		changed := st.service.Changed(st.sale) // before reading: nothing is missed
		more, err := st.page(ctx)
		if err != nil {
			return err
		}
		if more {
			continue
		}
		if err := st.wait(ctx, changed, ticks); err != nil {
			return err
		}
	}
}

// Why a stream ends although its reader is there. The reader comes back with
// Last-Event-ID, here or at the server that sells now.
var (
	errStopping = errors.New("the server is stopping")
	errDetached = errors.New("this server does not sell any more")
)

// wait returns nil when there may be more events.
func (st *stream) wait(ctx context.Context, changed <-chan struct{}, ticks <-chan time.Time) error {
	for {
		select {
		case <-changed:
			return nil
		case <-ticks:
			// A reader that is gone without a word is found by writing to it.
			if err := st.write([]byte(": still here\n\n")); err != nil {
				return err
			}
		case <-st.gone:
			return errDetached
		case <-st.server.stopping:
			return errStopping
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// page writes the next events, and says whether there may be more already.
func (st *stream) page(ctx context.Context) (more bool, err error) {
	select {
	case <-st.gone:
		return false, errDetached
	case <-st.server.stopping:
		return false, errStopping
	default:
	}
	events, err := st.service.Events(ctx, st.sale, st.after, eventPage)
	if err != nil || len(events) == 0 {
		return false, err
	}
	st.out = st.out[:0]
	for i := range events {
		if st.out, err = appendEvent(st.out, &events[i]); err != nil {
			return false, err
		}
	}
	if err := st.write(st.out); err != nil {
		return false, err
	}
	st.after = events[len(events)-1].Seq
	return len(events) == eventPage, nil
}

// write sends at once, within the time that a reader has for it.
func (st *stream) write(b []byte) error {
	if err := st.control.SetWriteDeadline(time.Now().Add(st.server.streamWrite)); err != nil {
		return err
	}
	if _, err := st.w.Write(b); err != nil {
		return err
	}
	return st.control.Flush()
}

// eventDocument is an event of a sale as the API shows it; appendEvent adds
// the claim to events of claims.
type eventDocument struct {
	Seq   int64              `json:"seq"`
	Kind  rushgate.EventKind `json:"kind"`
	Sale  string             `json:"sale"`
	At    string             `json:"at"`
	Claim json.RawMessage    `json:"claim,omitempty"`
	State *rulesDocument     `json:"state,omitempty"`
	Item  string             `json:"item,omitempty"`
	Add   int64              `json:"add,omitempty"`
}

// rulesDocument is a sale in an event: its rules, without stock.
type rulesDocument struct {
	Name     string       `json:"name"`
	OpensAt  *string      `json:"opens_at"`
	ClosesAt *string      `json:"closes_at"`
	PerUser  int64        `json:"per_user"`
	Hold     span         `json:"hold"`
	Ack      rushgate.Ack `json:"ack"`
	Shards   int          `json:"shards"`
	Frozen   bool         `json:"frozen"`
	Closed   bool         `json:"closed"`
}

func appendEvent(b []byte, e *rushgate.Event) ([]byte, error) {
	d := eventDocument{Seq: e.Seq, Kind: e.Kind, Sale: e.Sale, At: e.At.UTC().Format(timeLayout), Item: e.Item, Add: e.Add}
	if e.Claim != nil {
		d.Claim = appendClaim(nil, &rushgate.Receipt{Claim: *e.Claim})
	}
	if s := e.State; s != nil {
		d.State = &rulesDocument{Name: s.Name, OpensAt: moment(s.OpensAt), ClosesAt: moment(s.ClosesAt), PerUser: s.PerUser,
			Hold: span(s.Hold), Ack: s.Ack, Shards: s.Shards, Frozen: s.Frozen, Closed: s.Ended}
	}
	data, err := json.Marshal(d)
	if err != nil {
		return b, err
	}
	b = strconv.AppendInt(append(b, "id: "...), e.Seq, 10)
	b = append(append(b, "\nevent: "...), e.Kind...)
	b = append(append(b, "\ndata: "...), data...)
	return append(b, "\n\n"...), nil
}

// streams counts the streams that run, so that Close can wait for them.
type streams struct {
	mu      sync.Mutex
	running sync.WaitGroup
}

// begin counts one in, unless the server is stopping.
func (s *streams) begin(stopping <-chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-stopping:
		return false
	default:
	}
	s.running.Add(1)
	return true
}

func (s *streams) end() { s.running.Done() }

func (s *streams) wait() {
	s.mu.Lock() // nobody is between looking and counting
	defer s.mu.Unlock()
	s.running.Wait()
}

func everyFifteenSeconds() (<-chan time.Time, func()) {
	t := time.NewTicker(15 * time.Second)
	return t.C, t.Stop
}
