package limithttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"rushgate/limit"
	"rushgate/limit/limithttp"
	"rushgate/limit/limittest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shop is a handler behind limits, on a clock of the test's.
type shop struct {
	*testing.T
	clock   *limittest.Clock
	handler http.Handler
	served  int
	saw     []limithttp.Outcome
}

func byUser(r *http.Request) string { return r.Header.Get("User") }

func open(t *testing.T, rules []limit.Rule, options limithttp.Options) *shop {
	s := &shop{T: t, clock: limittest.NewClock()}
	joint, err := limit.NewMemoryJoint(rules, limit.MemoryOptions{Clock: s.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	s.behind(joint, options)
	return s
}

func (s *shop) behind(joint limit.Joint, options limithttp.Options) {
	options.Observe = func(_ *http.Request, o limithttp.Outcome) { s.saw = append(s.saw, o) }
	limited, err := limithttp.New(joint, options)
	if err != nil {
		s.Fatal(err)
	}
	s.handler = limited.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { s.served++ }))
}

// ask sends a request of a user and returns the answer.
func (s *shop) ask(user string, fields ...string) *http.Response {
	r := httptest.NewRequest("POST", "/", nil)
	r.Header.Set("User", user)
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w.Result()
}

// want compares the status and header fields of an answer.
func (s *shop) want(w *http.Response, status int, fields map[string]string) {
	s.Helper()
	got := map[string]string{}
	for name := range fields {
		got[name] = strings.Join(w.Header.Values(name), " | ")
	}
	if diff := cmp.Diff(fields, got, cmpopts.EquateEmpty()); w.StatusCode != status || diff != "" {
		s.Errorf("%d, want %d; fields (-want +got):\n%s", w.StatusCode, status, diff)
	}
}

func two() []limit.Rule {
	return []limit.Rule{{Name: "user", Policy: limit.GCRA(limit.PerSecond(1), 2)}, {Name: "all", Policy: limit.FixedWindow(3, 90*time.Second)}}
}

func twoKeys() limithttp.Options {
	return limithttp.Options{Keys: []limithttp.Key{byUser, limithttp.Everybody}, Away: limithttp.Refuse}
}

func TestEveryAnswerTellsTheLimits(t *testing.T) {
	s := open(t, two(), twoKeys())
	const policy = `"user";q=2;w=2, "all";q=3;w=90`
	s.want(s.ask("ann"), 200, map[string]string{"RateLimit-Policy": policy, "RateLimit": `"user";r=1;t=1, "all";r=2;t=90`, "Retry-After": ""})
	s.clock.Move(100_000)
	s.want(s.ask("ann"), 200, map[string]string{"RateLimit-Policy": policy, "RateLimit": `"user";r=0;t=2, "all";r=1;t=90`, "Retry-After": ""})
	s.want(s.ask("ann"), 429, map[string]string{"RateLimit-Policy": policy, "RateLimit": `"user";r=0;t=2, "all";r=1;t=90`, "Retry-After": "1",
		"Content-Type": "application/problem+json", "Cache-Control": "no-store"})
	s.want(s.ask("ben"), 200, map[string]string{"RateLimit": `"user";r=1;t=1, "all";r=0;t=90`})
	s.want(s.ask("ann"), 429, map[string]string{"RateLimit": `"user";r=0;t=2, "all";r=0;t=90`, "Retry-After": "90"}) // of two that refuse, the longer
	s.want(s.ask("cat"), 429, map[string]string{"RateLimit": `"user";r=2;t=0, "all";r=0;t=90`, "Retry-After": "90"})
	s.want(s.ask(""), 429, map[string]string{"RateLimit-Policy": `"all";q=3;w=90`, "RateLimit": `"all";r=0;t=90`})
	if s.served != 3 {
		t.Errorf("%d requests were served, want 3", s.served)
	}
	if diff := cmp.Diff([]limithttp.Outcome{{Rule: "user"}, {Rule: "all"}, {Rule: "all"}, {Rule: "all"}}, s.saw); diff != "" {
		t.Error(diff)
	}
}

func TestARefusalIsAProblemDocument(t *testing.T) {
	options := twoKeys()
	options.ProblemType = "/docs#"
	s := open(t, two(), options)
	s.ask("ann")
	s.ask("ann")
	var p limithttp.Problem
	if err := json.NewDecoder(s.ask("ann").Body).Decode(&p); err != nil {
		t.Fatal(err)
	}
	want := limithttp.Problem{Type: "/docs#rate_limited", Title: "Too many requests", Status: 429, Code: "rate_limited", Rule: "user",
		Detail: "the limit user is reached; come back after Retry-After", RetryAfter: 1}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
}

func TestACostIsTaken(t *testing.T) {
	cost := int64(2)
	options := twoKeys()
	options.Costs = []limithttp.Cost{nil, func(*http.Request) int64 { return cost }}
	options.Partition = true
	s := open(t, two(), options)
	w := s.ask("ann")
	s.want(w, 200, map[string]string{"RateLimit": `"user";r=1;t=1;pk=:SZFeDX1LQC4wF9AQ:, "all";r=1;t=90;pk=:XvXvA2S2k5xMph80:`,
		"RateLimit-Policy": `"user";q=2;w=2;pk=:SZFeDX1LQC4wF9AQ:, "all";q=3;w=90;pk=:XvXvA2S2k5xMph80:`})
	s.want(s.ask("ann"), 429, map[string]string{"Retry-After": "90"})
	cost = 4
	s.want(s.ask("ann"), 413, map[string]string{"Retry-After": "", "RateLimit": ""})
	cost = -1
	s.want(s.ask("ann"), 500, map[string]string{"Retry-After": ""})
	cost = 0
	s.want(s.ask("ann"), 200, nil)
}

// away is a store that gives no answer.
type away struct{ limit.Joint }

func (away) Take(ctx context.Context, _ []limit.Ask) (limit.Verdict, error) {
	<-ctx.Done()
	return limit.Verdict{}, errors.Join(limit.ErrUnavailable, ctx.Err())
}

func TestTheStoreIsAway(t *testing.T) {
	for what, status := range map[limithttp.Away]int{limithttp.Pass: 200, limithttp.Refuse: 503} {
		s, options := open(t, two(), twoKeys()), twoKeys()
		joint, err := limit.NewMemoryJoint(two(), limit.MemoryOptions{})
		if err != nil {
			t.Fatal(err)
		}
		options.Away, options.Timeout = what, time.Millisecond
		s.behind(away{joint}, options)
		fields := map[string]string{"RateLimit": "", "Retry-After": ""}
		if what == limithttp.Refuse {
			fields["Retry-After"] = "1"
		}
		s.want(s.ask("ann"), status, fields)
		if len(s.saw) != 1 || s.saw[0].Passed != (what == limithttp.Pass) || !errors.Is(s.saw[0].Err, limit.ErrUnavailable) {
			t.Errorf("observed %+v", s.saw)
		}
	}
}

// TestTheStoreIsFull: it is as if it gave no answer to one who is new; who is known is served.
func TestTheStoreIsFull(t *testing.T) {
	for what, status := range map[limithttp.Away]int{limithttp.Pass: 200, limithttp.Refuse: 503} {
		s, options := open(t, two(), twoKeys()), twoKeys()
		joint, err := limit.NewMemoryJoint(two(), limit.MemoryOptions{MaxKeys: 1, Clock: s.clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		options.Away = what
		s.behind(joint, options)
		s.want(s.ask("ann"), 200, nil)
		s.want(s.ask("ben"), status, map[string]string{"RateLimit": ""})
		s.want(s.ask("ann"), 200, nil)
		if len(s.saw) != 1 || s.saw[0].Passed != (what == limithttp.Pass) || !errors.Is(s.saw[0].Err, limit.ErrFull) {
			t.Errorf("observed %+v", s.saw)
		}
	}
}

func TestALongKeyIsHashed(t *testing.T) {
	s := open(t, two(), twoKeys())
	long := strings.Repeat("x", 4000)
	s.want(s.ask(long), 200, nil)
	s.want(s.ask(long), 200, nil)
	s.want(s.ask(long), 429, nil)
	s.want(s.ask(long+"y"), 200, nil)
}

// TestLimitsWithinLimits: one Limited behind another, of which each tells its own.
func TestLimitsWithinLimits(t *testing.T) {
	outer, inner := open(t, two(), twoKeys()), open(t, two()[:1], limithttp.Options{Keys: []limithttp.Key{byUser}, Away: limithttp.Pass})
	joint, err := limit.NewMemoryJoint(two()[1:], limit.MemoryOptions{Clock: outer.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	limited, err := limithttp.New(joint, limithttp.Options{Keys: []limithttp.Key{limithttp.Everybody}, Away: limithttp.Pass})
	if err != nil {
		t.Fatal(err)
	}
	outer.handler = limited.Wrap(inner.handler)
	outer.want(outer.ask("ann"), 200, map[string]string{"RateLimit-Policy": `"all";q=3;w=90 | "user";q=2;w=2`,
		"RateLimit": `"all";r=2;t=90 | "user";r=1;t=1`})
}

func TestWrongOptions(t *testing.T) {
	if _, err := limithttp.New(nil, twoKeys()); !errors.Is(err, limit.ErrInvalid) {
		t.Errorf("no joint: %v", err)
	}
	joint, err := limit.NewMemoryJoint(two(), limit.MemoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*limithttp.Options){
		"no word on Away": func(o *limithttp.Options) { o.Away = 0 },
		"one key for two": func(o *limithttp.Options) { o.Keys = o.Keys[:1] },
		"a nil key":       func(o *limithttp.Options) { o.Keys[1] = nil },
		"minus a proxy":   func(o *limithttp.Options) { o.Keys[1] = limithttp.Address(-1) },
		"three costs":     func(o *limithttp.Options) { o.Costs = make([]limithttp.Cost, 3) },
		"a long timeout":  func(o *limithttp.Options) { o.Timeout = time.Hour },
	} {
		options := twoKeys()
		change(&options)
		if _, err := limithttp.New(joint, options); !errors.Is(err, limit.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
