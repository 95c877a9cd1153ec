package load

import (
	"bytes"
	"net/http"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/valyala/fasthttp"
)

// recorder counts answers. Several connections share one, so that thousands of
// them do not need a histogram each; its lock is hardly ever waited for.
type recorder struct {
	mu      sync.Mutex
	all     Counts
	window  Counts                  // after the warm-up
	latency *hdrhistogram.Histogram // µs from the moment at which it was due
	service *hdrhistogram.Histogram // µs from the moment at which it was sent
}

// The histograms go from 1 µs to 10 minutes with three exact digits.
const (
	shortest = 1
	longest  = int64(10 * time.Minute / time.Microsecond)
	digits   = 3
)

func newRecorder() *recorder {
	return &recorder{all: newCounts(), window: newCounts(),
		latency: hdrhistogram.New(shortest, longest, digits),
		service: hdrhistogram.New(shortest, longest, digits)}
}

// exchange is what happened to one request, with moments since the start of
// the run. An answer of nil means that none came.
type exchange struct {
	due, sent, done time.Duration
	answer          *fasthttp.Response
	batch           bool
}

// record counts an exchange; it is measured when it was due after the warm-up.
func (r *recorder) record(e *exchange, warmup time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all.add(e)
	if e.due < warmup {
		return
	}
	r.window.add(e)
	if e.answer != nil {
		record(r.latency, e.done-e.due)
		record(r.service, e.done-e.sent)
	}
}

func (r *recorder) unsent(due, warmup time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all.Unsent++
	if due >= warmup {
		r.window.Unsent++
	}
}

func record(h *hdrhistogram.Histogram, d time.Duration) {
	// The value is within the bounds, which is all that RecordValue can refuse.
	_ = h.RecordValue(min(max(d.Microseconds(), shortest), longest))
}

// merge adds what another recorder has.
func (r *recorder) merge(o *recorder) {
	r.all.merge(&o.all)
	r.window.merge(&o.window)
	r.latency.Merge(o.latency)
	r.service.Merge(o.service)
}

// Counts tells what became of the requests. Accepted, Replayed and Refused
// count claims; the rest counts requests.
type Counts struct {
	Requests int64            `json:"requests"` // sent
	Answers  int64            `json:"answers"`
	Accepted int64            `json:"accepted"`
	Replayed int64            `json:"replayed"`
	Refused  map[string]int64 `json:"refused"` // by problem code
	Errors   int64            `json:"errors"`  // sent, and no answer came: it is unknown what the server did
	Unsent   int64            `json:"unsent"`  // due, and not sent: no connection was free in time, or none could be opened
	Statuses map[int]int64    `json:"statuses"`
}

func newCounts() Counts {
	return Counts{Refused: map[string]int64{}, Statuses: map[int]int64{}}
}

func (c *Counts) add(e *exchange) {
	c.Requests++
	if e.answer == nil {
		c.Errors++
		return
	}
	c.Answers++
	status, body := e.answer.StatusCode(), e.answer.Body()
	c.Statuses[status]++
	switch {
	case status == http.StatusOK && e.batch:
		c.addBatch(body)
	case status == http.StatusOK && bytes.Contains(body, []byte(`"replayed":true`)):
		c.Replayed++
	case status == http.StatusOK || status == http.StatusCreated:
		c.Accepted++
	default:
		c.Refused[codeOf(body)]++
	}
}

// addBatch counts the results of a batch by the one field that every claim
// has and no problem has, and the other way round: parsing 500 results would
// cost more than the server needs for them.
func (c *Counts) addBatch(body []byte) {
	c.Accepted += int64(bytes.Count(body, []byte(`"created_at":`)))
	for {
		i := bytes.Index(body, codeField)
		if i < 0 {
			return
		}
		c.Refused[codeOf(body[i:])]++
		body = body[i+len(codeField):]
	}
}

var codeField = []byte(`"code":"`)

// codeOf finds the code of a problem document.
func codeOf(body []byte) string {
	i := bytes.Index(body, codeField)
	if i < 0 {
		return "other"
	}
	code := body[i+len(codeField):]
	end := bytes.IndexByte(code, '"')
	if end < 0 || end > 64 {
		return "other"
	}
	return intern(code[:end])
}

// intern spares an allocation for the codes that come by the million.
func intern(code []byte) string {
	switch string(code) {
	case "sold_out":
		return "sold_out"
	case "overloaded":
		return "overloaded"
	case "limit_reached":
		return "limit_reached"
	}
	return string(code)
}

func (c *Counts) merge(o *Counts) {
	c.Requests += o.Requests
	c.Answers += o.Answers
	c.Accepted += o.Accepted
	c.Replayed += o.Replayed
	c.Errors += o.Errors
	c.Unsent += o.Unsent
	for k, n := range o.Refused {
		c.Refused[k] += n
	}
	for k, n := range o.Statuses {
		c.Statuses[k] += n
	}
}

// RefusedAll returns the claims that were refused, whatever the reason.
func (c *Counts) RefusedAll() int64 {
	var n int64
	for _, k := range c.Refused {
		n += k
	}
	return n
}
