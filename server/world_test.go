package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rushgate"
	"rushgate/admission"
	"rushgate/gate/memory"
	"rushgate/internal/lane"
	"rushgate/ledger/sqlite"
	"rushgate/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const adminToken = "admin-token-of-the-tests"

// world is a real service on real parts behind a real listener, which can be
// stopped and started again on the same folder.
type world struct {
	t     testing.TB
	dir   string
	clock *clock
	log   *syncBuffer

	identity  admission.Identity
	heartbeat chan time.Time
	write     time.Duration
	queue     int
	commit    func(func() error) error
	unready   func() string

	ledger  *sqlite.Ledger
	shop    *rushgate.Service
	server  *server.Server
	metrics *server.Metrics
	http    *httptest.Server
	express *lane.Listener
}

// start starts a world with the dev identity, unless edit says otherwise.
func start(t testing.TB, edit ...func(*world)) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), clock: newClock(), log: &syncBuffer{}, identity: admission.Dev{}, heartbeat: make(chan time.Time)}
	for _, e := range edit {
		e(w)
	}
	w.open()
	t.Cleanup(w.close)
	return w
}

func (w *world) open() {
	w.t.Helper()
	var err error
	log := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	w.metrics = server.NewMetrics()
	w.ledger, err = sqlite.Open(context.Background(), w.dir, sqlite.Options{Now: w.clock.Now, Commit: w.commit})
	w.must(err)
	w.shop, err = rushgate.Open(context.Background(), rushgate.Config{Gate: memory.New(), Ledger: w.ledger,
		Now: w.clock.Now, Observe: w.metrics, Log: log, QueueLimit: w.queue})
	w.must(err)
	w.server, err = server.New(server.Config{Service: w.shop, Identity: w.identity, AdminToken: adminToken, Metrics: w.metrics, Log: log, Unready: w.unready,
		Heartbeat: func() (<-chan time.Time, func()) { return w.heartbeat, func() {} }, StreamWrite: w.write})
	w.must(err)
	w.http = httptest.NewUnstartedServer(w.server)
	w.http.Config = w.server.HTTPServer()
	w.express = w.server.Express(w.server.Limit(w.http.Listener, server.MaxConnections)) // as the program does
	w.http.Listener = w.express
	w.http.Start()
}

func (w *world) close() {
	w.server.Close()
	w.http.Client().CloseIdleConnections()
	w.must(w.express.Shutdown(context.Background()))
	w.http.Close()
	w.must(w.shop.Close(context.Background()))
	w.must(w.ledger.Close())
}

func (w *world) restart() {
	w.close()
	w.open()
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	raw    string
	body   map[string]any // of a JSON object
	last   bool           // raw: the connection has ended
}

func (a answer) text(name string) string { s, _ := a.body[name].(string); return s }

// ask is a request to be.
type ask struct {
	method, path, body string
	header             []string // name, value, name, value …
}

// send sends a request. A test that is not about it trusts that it arrives.
func (w *world) send(a ask) answer {
	w.t.Helper()
	got, err := w.try(a)
	w.must(err)
	return got
}

func (w *world) try(a ask) (answer, error) {
	var body io.Reader
	if a.body != "" {
		body = strings.NewReader(a.body)
	}
	r, err := http.NewRequest(a.method, w.http.URL+a.path, body)
	if err != nil {
		return answer{}, err
	}
	if a.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(a.header); i += 2 {
		if r.Header.Set(a.header[i], a.header[i+1]); a.header[i+1] == "" {
			r.Header.Del(a.header[i])
		}
	}
	return w.do(r)
}

func (w *world) do(r *http.Request) (answer, error) {
	resp, err := w.http.Client().Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, err
	}
	got := answer{status: resp.StatusCode, header: resp.Header, raw: string(raw)}
	_ = json.Unmarshal(raw, &got.body) // not every answer is an object
	return got, observe(r, got)
}

// admin sends a request as an operator.
func (w *world) admin(method, path, body string) answer {
	w.t.Helper()
	return w.send(ask{method, path, body, []string{"Authorization", "Bearer " + adminToken}})
}

// claim sends a claim.
func (w *world) claim(sale, body string, header ...string) answer {
	w.t.Helper()
	return w.send(ask{"POST", "/v1/sales/" + sale + "/claims", body, header})
}

// sale makes a sale of one item "a".
func (w *world) sale(id string, stock int, more string) {
	w.t.Helper()
	body := `{"id":"` + id + `","name":"Sale","items":[{"id":"a","name":"A","stock":` + itoa(stock) + `}]` + more + `}`
	w.want(w.admin("POST", "/v1/sales", body), 201, "")
}

// want checks status and code.
func (w *world) want(got answer, status int, code string) answer {
	w.t.Helper()
	if got.status != status || got.text("code") != code {
		w.t.Fatalf("got %d %q, want %d %q: %s", got.status, got.text("code"), status, code, got.raw)
	}
	if status >= 400 && got.header.Get("Content-Type") != "application/problem+json" {
		w.t.Fatalf("a problem of type %q: %s", got.header.Get("Content-Type"), got.raw)
	}
	return got
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

// clock is time that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// syncBuffer is a log that can be read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
