package oncehttp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"rushgate/once"
	oncehttp "rushgate/once/http"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func wrapped(t *testing.T, c oncehttp.Config, o once.Config, h http.HandlerFunc) http.Handler {
	t.Helper()
	m, err := once.NewMemory(once.MemoryConfig{})
	if err == nil {
		o.Store = m
		c.Once, err = once.New(o)
	}
	if err != nil {
		t.Fatal(err)
	}
	if c.Scope == nil {
		c.Scope = oncehttp.Everybody
	}
	keys, err := oncehttp.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return keys(h)
}

// send sends a request; key "" stands for none.
func send(h http.Handler, method, target, key, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if key != "" {
		r.Header.Set(oncehttp.Header, key)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// counting is a handler that answers how often it has been run.
func counting(runs *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Location", "/orders/1")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, string(body)+" "+string(rune('0'+runs.Add(1))))
	}
}

func TestRequests(t *testing.T) {
	var runs atomic.Int64
	scope := func(r *http.Request) string { return r.URL.Query().Get("user") }
	h := wrapped(t, oncehttp.Config{Required: true, Scope: scope, MaxBody: 10}, once.Config{}, counting(&runs))
	for i, c := range []struct {
		method, target, key, body string
		status                    int
		answer                    string // begins with, or contains
		replayed                  bool
	}{
		{"POST", "/o", `"k1"`, "a", 201, "a 1", false},
		{"POST", "/o", `"k1"`, "a", 201, "a 1", true},
		{"POST", "/o", `k1`, "a", 201, "a 1", true}, // without quotes
		{"POST", "/o", `"k1"`, "b", 422, `"key_reused"`, false},
		{"POST", "/p", `"k1"`, "a", 422, `"key_reused"`, false},
		{"PATCH", "/o", `"k1"`, "a", 422, `"key_reused"`, false},
		{"POST", "/o?user=ann", `"k1"`, "c", 201, "c 2", false}, // another one's key
		{"POST", "/o?user=ann", `"k1"`, "c", 201, "c 2", true},
		{"POST", "/o?user=an", `"nk1"`, "c", 201, "c 3", false}, // together, their names and keys read the same
		{"POST", "/o", `"k2"`, "a", 201, "a 4", false},
		{"POST", "/o?n=2", `"k2"`, "a", 422, `"key_reused"`, false},
		{"POST", "/o", "", "a", 400, `"key_missing"`, false},
		{"POST", "/o", `"k1`, "a", 400, `"key_malformed"`, false},
		{"POST", "/o", `"`, "a", 400, `"key_malformed"`, false},
		{"POST", "/o", `""`, "a", 400, `"key_malformed"`, false},
		{"POST", "/o", `"k1";p=1`, "a", 400, `"key_malformed"`, false},
		{"POST", "/o", "k\x01", "a", 400, `"key_malformed"`, false},
		{"POST", "/o", `"ä"`, "a", 400, `"key_malformed"`, false},
		{"POST", "/o", strings.Repeat("x", 256), "a", 400, `"key_malformed"`, false},
		{"POST", "/o", `"k3"`, strings.Repeat("x", 11), 413, `"body_too_large"`, false},
		{"PUT", "/o", "", "d", 201, "d 5", false}, // not ours
		{"PUT", "/o", `"k1"`, "d", 201, "d 6", false},
	} {
		w := send(h, c.method, c.target, c.key, c.body)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.answer) || (w.Header().Get("Idempotency-Replayed") == "true") != c.replayed {
			t.Errorf("%d: %d %q, %v; want %d %q, replayed %v", i, w.Code, w.Body, w.Header(), c.status, c.answer, c.replayed)
		}
		if c.status == 201 && w.Header().Get("Location") != "/orders/1" {
			t.Errorf("%d: the header is %v", i, w.Header())
		}
		if c.status >= 400 && (w.Header().Get("Content-Type") != "application/problem+json" || w.Header().Get("Cache-Control") != "no-store") {
			t.Errorf("%d: the header is %v", i, w.Header())
		}
	}
}

// TestOtherFields: the same bytes of another type are another request, and two keys are none.
func TestOtherFields(t *testing.T) {
	var runs atomic.Int64
	h := wrapped(t, oncehttp.Config{}, once.Config{}, counting(&runs))
	for i, c := range []struct {
		header http.Header
		status int
	}{
		{http.Header{oncehttp.Header: {"k"}, "Content-Type": {"text/plain"}}, 201},
		{http.Header{oncehttp.Header: {"k"}, "Content-Type": {"text/plain"}}, 201},
		{http.Header{oncehttp.Header: {"k"}, "Content-Type": {"text/html"}}, 422},
		{http.Header{oncehttp.Header: {"k", "l"}, "Content-Type": {"text/plain"}}, 400},
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader("a"))
		r.Header = c.header
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != c.status || runs.Load() != 1 {
			t.Errorf("%d: %d %q, %d runs; want %d", i, w.Code, w.Body, runs.Load(), c.status)
		}
	}
}

// TestWhenToComeBack: when the lease of somebody else ends, in whole seconds, rounded
// up; within a minute, as that one may be ready long before.
func TestWhenToComeBack(t *testing.T) {
	for lease, want := range map[time.Duration]string{100 * time.Millisecond: "1", 2500 * time.Millisecond: "3", time.Hour: "60"} {
		synctest.Test(t, func(t *testing.T) {
			m, err := once.NewMemory(once.MemoryConfig{})
			if err != nil {
				t.Fatal(err)
			}
			finish := make(chan struct{})
			node := func() http.Handler {
				o, err := once.New(once.Config{Store: m, Lease: lease})
				if err != nil {
					t.Fatal(err)
				}
				keys, err := oncehttp.New(oncehttp.Config{Once: o, Scope: oncehttp.Everybody, NoWait: true})
				if err != nil {
					t.Fatal(err)
				}
				return keys(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-finish }))
			}
			var first sync.WaitGroup
			first.Go(func() { send(node(), "POST", "/", "k", "") })
			synctest.Wait()
			if w := send(node(), "POST", "/", "k", ""); w.Code != 409 || w.Header().Get("Retry-After") != want {
				t.Errorf("a lease of %s: %d, %v; want %s", lease, w.Code, w.Header(), want)
			}
			close(finish)
			first.Wait()
		})
	}
}

// TestErrorsAreServedAnew, and refusals are kept.
func TestErrorsAreServedAnew(t *testing.T) {
	var runs atomic.Int64
	statuses := []int{500, 503, 402}
	h := wrapped(t, oncehttp.Config{}, once.Config{}, func(w http.ResponseWriter, r *http.Request) {
		n := int(runs.Add(1))
		if a, ok := oncehttp.AttemptOf(r.Context()); !ok || a.Number != n {
			t.Errorf("attempt %+v, %v in run %d", a, ok, n)
		}
		http.Error(w, "no", statuses[n-1])
	})
	for i, want := range []int{500, 503, 402, 402, 402} {
		if w := send(h, "POST", "/", "k", ""); w.Code != want || w.Body.String() != "no\n" {
			t.Errorf("%d: %d %q; want %d", i, w.Code, w.Body, want)
		}
	}
}

// TestLargeAnswer: it was processed, so it is not processed again.
func TestLargeAnswer(t *testing.T) {
	for _, writes := range []int{20, 1} {
		var runs atomic.Int64
		h := wrapped(t, oncehttp.Config{}, once.Config{MaxResult: 100}, func(w http.ResponseWriter, _ *http.Request) {
			runs.Add(1)
			for range writes {
				_, _ = io.WriteString(w, strings.Repeat("0", 200/writes))
			}
		})
		for _, replayed := range []string{"", "true"} {
			w := send(h, "POST", "/", "k", "")
			if w.Code != 500 || !strings.Contains(w.Body.String(), "answer_too_large") || w.Header().Get("Idempotency-Replayed") != replayed {
				t.Errorf("in %d writes: %d %q, %v; replayed %q", writes, w.Code, w.Body, w.Header(), replayed)
			}
		}
		if runs.Load() != 1 {
			t.Errorf("processed %d times", runs.Load())
		}
	}
}

// TestInFlight: while the first request is being processed, others wait for its
// answer, or hear so at once, or when they have waited for long enough.
func TestInFlight(t *testing.T) {
	for name, c := range map[string]struct {
		noWait bool
		status int
		takes  time.Duration
	}{
		"waits":     {false, 200, 5 * time.Second},
		"at once":   {true, 409, 5 * time.Second},
		"impatient": {false, 409, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := wrapped(t, oncehttp.Config{NoWait: c.noWait}, once.Config{Patience: 10 * time.Second}, func(w http.ResponseWriter, r *http.Request) {
					select {
					case <-time.After(c.takes):
						_, _ = io.WriteString(w, "done")
					case <-r.Context().Done():
					}
				})
				var first sync.WaitGroup
				first.Go(func() {
					if w := send(h, "POST", "/", "k", ""); w.Code != 200 || w.Body.String() != "done" {
						t.Errorf("the first: %d %q", w.Code, w.Body)
					}
				})
				synctest.Wait()
				w := send(h, "POST", "/", "k", "")
				if w.Code != c.status || c.status == 409 && (!strings.Contains(w.Body.String(), `"in_progress"`) || w.Header().Get("Retry-After") == "") {
					t.Errorf("%d %q %v; want %d", w.Code, w.Body, w.Header(), c.status)
				}
				first.Wait()
			})
		})
	}
}

func TestConfig(t *testing.T) {
	m, _ := once.NewMemory(once.MemoryConfig{})
	o, _ := once.New(once.Config{Store: m})
	for _, c := range []oncehttp.Config{
		{}, {Once: o}, {Scope: oncehttp.Everybody},
		{Once: o, Scope: oncehttp.Everybody, MaxBody: -1}, {Once: o, Scope: oncehttp.Everybody, MaxBody: 1 << 40},
	} {
		if _, err := oncehttp.New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

// TestNotServed: a body that breaks off, and a store that has no room.
func TestNotServed(t *testing.T) {
	var runs atomic.Int64
	m, err := once.NewMemory(once.MemoryConfig{Records: 1})
	if err != nil {
		t.Fatal(err)
	}
	o, err := once.New(once.Config{Store: m})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := oncehttp.New(oncehttp.Config{Once: o, Scope: oncehttp.Everybody})
	if err != nil {
		t.Fatal(err)
	}
	h := keys(counting(&runs))
	r := httptest.NewRequest("POST", "/", iotest.ErrReader(io.ErrUnexpectedEOF))
	r.Header.Set(oncehttp.Header, "broken")
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != 400 || !strings.Contains(w.Body.String(), `"body_unreadable"`) || runs.Load() > 0 {
		t.Errorf("%d %q", w.Code, w.Body)
	}
	send(h, "POST", "/", "k1", "a")
	w = send(h, "POST", "/", "k2", "a")
	if w.Code != 503 || !strings.Contains(w.Body.String(), `"overloaded"`) || w.Header().Get("Retry-After") != "1" || runs.Load() != 1 {
		t.Errorf("%d %q, %d runs", w.Code, w.Body, runs.Load())
	}
}

// TestHandlerThatGivesUp when the client goes away, as handlers do: without a
// word. That is no answer, and the repetition is served.
func TestHandlerThatGivesUp(t *testing.T) {
	var served atomic.Int64
	h := wrapped(t, oncehttp.Config{}, once.Config{}, func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Err() != nil {
			return
		}
		served.Add(1)
		_, _ = io.WriteString(w, "ordered")
	})
	ctx, goAway := context.WithCancel(t.Context())
	goAway()
	r := httptest.NewRequestWithContext(ctx, "POST", "/", nil)
	r.Header.Set(oncehttp.Header, "k")
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != 503 || w.Header().Get("Retry-After") != "1" {
		t.Errorf("%d %q for one who has gone", w.Code, w.Body)
	}
	if w := send(h, "POST", "/", "k", ""); w.Code != 200 || w.Body.String() != "ordered" || served.Load() != 1 {
		t.Errorf("the repetition: %d %q, served %d times", w.Code, w.Body, served.Load())
	}
}
