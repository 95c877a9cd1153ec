package load

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"
	"time"
)

// shop is a server that counts what it was asked and answers by a rule.
type shop struct {
	mu    sync.Mutex
	users map[string]int
	asked int
	reply func(n int, w http.ResponseWriter)
}

// saw returns how many requests came, of how many users.
func (s *shop) saw() (requests, users int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked, len(s.users)
}

var userField = regexp.MustCompile(`"user":"([^"]*)"`)

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.asked++
	n := s.asked
	for _, m := range userField.FindAllSubmatch(body, -1) {
		s.users[string(m[1])]++
	}
	s.mu.Unlock()
	s.reply(n, w)
}

func open(t *testing.T, reply func(n int, w http.ResponseWriter)) (*shop, Plan) {
	t.Helper()
	s := &shop{users: map[string]int{}, reply: reply}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, Plan{Server: server.URL, Sale: "sale", Item: "a", Mode: Closed, Duration: time.Minute,
		Requests: 1000, Connections: 7, Names: Random, Seed: 5}
}

func sold(w http.ResponseWriter) {
	w.WriteHeader(http.StatusCreated)
	io.WriteString(w, `{"id":"1","state":"confirmed","created_at":"2026-11-11T00:00:00Z"}`)
}

func problem(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	io.WriteString(w, `{"status":409,"code":"`+code+`"}`)
}

func mustRun(t *testing.T, p Plan) *Report {
	t.Helper()
	r, err := Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEveryRequestIsCountedOnceAndHasItsOwnUser(t *testing.T) {
	for _, mode := range []Mode{Closed, Open} {
		t.Run(string(mode), func(t *testing.T) {
			s, p := open(t, func(n int, w http.ResponseWriter) {
				switch {
				case n <= 100:
					sold(w)
				case n <= 400:
					problem(w, http.StatusServiceUnavailable, "overloaded")
				default:
					problem(w, http.StatusConflict, "sold_out")
				}
			})
			p.Mode, p.Rate = mode, 50_000
			c := mustRun(t, p).All
			if c.Requests != 1000 || c.Answers != 1000 || c.Errors != 0 || c.Unsent != 0 {
				t.Errorf("counted %+v, want 1000 requests and answers", c)
			}
			if c.Accepted != 100 || c.Refused["overloaded"] != 300 || c.Refused["sold_out"] != 600 {
				t.Errorf("accepted %d, refused %v; the server granted 100, refused 300 and 600", c.Accepted, c.Refused)
			}
			if asked, users := s.saw(); asked != 1000 || users != 1000 {
				t.Errorf("the server saw %d requests of %d users, want 1000 of 1000", asked, users)
			}
		})
	}
}

func TestABatchCountsEachClaim(t *testing.T) {
	s, p := open(t, func(_ int, w http.ResponseWriter) {
		io.WriteString(w, `{"results":[{"id":"1","created_at":"x"},{"status":409,"code":"sold_out"},{"id":"2","created_at":"x"}]}`)
	})
	p.PerRequest, p.Requests = 3, 10
	c := mustRun(t, p).All
	if c.Requests != 10 || c.Accepted != 20 || c.Refused["sold_out"] != 10 {
		t.Errorf("counted %+v, want 10 requests with 20 claims accepted and 10 refused", c)
	}
	if _, users := s.saw(); users != 30 {
		t.Errorf("the server saw %d users, want 30", users)
	}
}

// A request whose connection broke is an error, never an answer: it is unknown
// what the server did with it.
func TestABrokenConnectionIsAnErrorAndTheNextRequestGoesOn(t *testing.T) {
	s, p := open(t, func(n int, w http.ResponseWriter) {
		if n%10 == 0 {
			panic(http.ErrAbortHandler)
		}
		sold(w)
	})
	p.Requests, p.Connections = 100, 1
	c := mustRun(t, p).All
	if c.Errors != 10 || c.Accepted != 90 {
		t.Errorf("counted %d errors and %d accepted, want 10 and 90", c.Errors, c.Accepted)
	}
	if asked, _ := s.saw(); asked != 100 {
		t.Errorf("the server saw %d requests, want 100: none may be repeated", asked)
	}
}

// The server stalls once. Every request that came due during the stall is
// charged with what it would have waited, though only one was on its way.
func TestAStallIsChargedToAllThatWereDue(t *testing.T) {
	const stall = 300 * time.Millisecond
	_, p := open(t, func(n int, w http.ResponseWriter) {
		if n == 1 {
			<-time.After(stall)
		}
		sold(w)
	})
	p.Mode, p.Rate, p.Connections, p.Requests = Open, 1000, 1, 100
	r := mustRun(t, p)
	if r.All.Answers != 100 {
		t.Fatalf("%d answers, want 100", r.All.Answers)
	}
	// The last of the 100 was due after 100 ms, 200 ms before the stall ended.
	if got, least := r.Latency.P50, 200.0; got < least {
		t.Errorf("median from when it was due: %.0f ms, want at least %.0f", got, least)
	}
	if r.Service.P50 > r.Latency.P50 {
		t.Errorf("median from when it was sent: %.0f ms, more than from when it was due: %.0f ms", r.Service.P50, r.Latency.P50)
	}
}

// What cannot be sent in time is counted, and does not hold the clock up.
func TestWhatCannotBeSentIsCountedAsUnsent(t *testing.T) {
	release := make(chan struct{})
	s, p := open(t, func(n int, w http.ResponseWriter) {
		if n == 2 { // both are blocked, until all have come due
			time.AfterFunc(500*time.Millisecond, func() { close(release) })
		}
		<-release
		sold(w)
	})
	p.Mode, p.Rate, p.Connections, p.Requests = Open, 10_000, 2, 500
	p.GiveUp = time.Millisecond
	c := mustRun(t, p).All
	if asked, _ := s.saw(); c.Requests+c.Unsent != 500 || int(c.Requests) != asked {
		t.Errorf("sent %d and not sent %d of 500; the server saw %d", c.Requests, c.Unsent, asked)
	}
	if c.Unsent == 0 {
		t.Error("nothing was counted as unsent, though both connections were blocked")
	}
}

// A server that goes away: what it may have seen is an error, what it cannot
// have seen was not sent.
func TestAServerThatIsGoneGetsNothing(t *testing.T) {
	var server *httptest.Server
	s := &shop{users: map[string]int{}, reply: func(n int, w http.ResponseWriter) {
		if n == 50 {
			server.Listener.Close()
			panic(http.ErrAbortHandler)
		}
		sold(w)
	}}
	server = httptest.NewServer(s)
	t.Cleanup(server.Close)
	c := mustRun(t, Plan{Server: server.URL, Sale: "sale", Mode: Closed, Duration: time.Minute, Requests: 60, Connections: 1, Names: Random}).All
	if c.Accepted != 49 || c.Errors != 1 || c.Unsent != 10 || c.Requests != 50 {
		t.Errorf("counted %+v, want 49 accepted, 1 error, 10 not sent", c)
	}
}

// When the time for answers is over, the rest of a backlog is dropped.
func TestABacklogEndsWithTheTimeForAnswers(t *testing.T) {
	s, p := open(t, func(_ int, w http.ResponseWriter) {
		<-time.After(20 * time.Millisecond)
		sold(w)
	})
	p.Mode, p.Rate, p.Connections, p.Requests = Open, 10_000, 1, 0
	p.Duration, p.AnswerTimeout = 100*time.Millisecond, 100*time.Millisecond
	c := mustRun(t, p).All
	if asked, _ := s.saw(); c.Unsent == 0 || c.Errors != 0 || int(c.Requests) != asked {
		t.Errorf("counted %+v, the server saw %d; want the backlog as not sent, and no error", c, asked)
	}
}

func TestCancellingEndsARunThatGetsNoAnswers(t *testing.T) {
	release := make(chan struct{})
	arrived := make(chan struct{}, 1)
	_, p := open(t, func(_ int, _ http.ResponseWriter) {
		select {
		case arrived <- struct{}{}:
		default:
		}
		<-release
	})
	t.Cleanup(func() { close(release) }) // before the server is closed, which waits
	p.Duration = MaxDuration             // if cancelling did not end it, nothing would
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	r, err := Run(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	if r.All.Answers != 0 || r.All.Errors == 0 {
		t.Errorf("counted %+v, want no answers and the broken requests as errors", r.All)
	}
}

func TestAWrongPlanIsRefused(t *testing.T) {
	_, good := open(t, func(_ int, w http.ResponseWriter) { sold(w) })
	for name, spoil := range map[string]func(*Plan){
		"scheme":      func(p *Plan) { p.Server = "https://example.org" },
		"no server":   func(p *Plan) { p.Server = "" },
		"sale":        func(p *Plan) { p.Sale = "" },
		"mode":        func(p *Plan) { p.Mode = "half-open" },
		"rate":        func(p *Plan) { p.Mode, p.Rate = Open, 0 },
		"duration":    func(p *Plan) { p.Duration = 0 },
		"warm-up":     func(p *Plan) { p.Warmup = p.Duration },
		"connections": func(p *Plan) { p.Connections = 0 },
		"users":       func(p *Plan) { p.Names = "alphabetical" },
		"requests":    func(p *Plan) { p.Requests = -1 },
	} {
		p := good
		spoil(&p)
		if _, err := Run(t.Context(), p); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
