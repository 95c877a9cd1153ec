package client_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"log/slog"

	"rushgate/app"
	"rushgate/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// realServer starts the whole program on a free port.
func realServer(t *testing.T) *app.Program {
	t.Helper()
	cfg := app.Defaults()
	cfg.Listen, cfg.Data = "127.0.0.1:0", t.TempDir()
	p, err := app.Open(t.Context(), cfg, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// quick retries without much of a pause.
func quick(attempts int) client.Option {
	return client.WithRetry(client.Retry{Attempts: attempts, Pause: time.Microsecond, MaxPause: time.Millisecond, MaxRetryAfter: 2 * time.Second})
}

func connect(t *testing.T, url string, options ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(url, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func newSale(t *testing.T, p *app.Program, s client.Sale) *client.Client {
	t.Helper()
	operator := connect(t, p.URL(), client.WithToken(p.AdminToken()))
	if _, err := operator.CreateSale(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return operator
}

// cutter is a proxy that passes requests on and cuts the connection instead of
// passing the answers of some of them back.
type cutter struct {
	t     *testing.T
	to    string
	cut   func(n int64) bool
	asked atomic.Int64
	lines net.Listener
	wg    sync.WaitGroup
}

func newCutter(t *testing.T, to string, cut func(n int64) bool) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{t: t, to: u.Host, cut: cut, lines: l}
	c.wg.Go(c.accept)
	t.Cleanup(func() { l.Close(); c.wg.Wait() })
	return c
}

func (c *cutter) URL() string { return "http://" + c.lines.Addr().String() }

func (c *cutter) accept() {
	for {
		conn, err := c.lines.Accept()
		if err != nil {
			return
		}
		c.wg.Go(func() {
			defer conn.Close()
			c.pass(conn)
		})
	}
}

// pass serves one request of a connection. The answer is read to its end
// before it is cut: the server has committed.
func (c *cutter) pass(conn net.Conn) {
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	server, err := net.Dial("tcp", c.to)
	if err != nil {
		c.t.Error(err)
		return
	}
	defer server.Close()
	req.Header.Set("Connection", "close")
	if err := req.Write(server); err != nil {
		c.t.Error(err)
		return
	}
	answer, err := io.ReadAll(server)
	if err != nil {
		c.t.Error(err)
		return
	}
	if n := c.asked.Add(1); c.cut(n) {
		if _, err := conn.Write(answer[:len(answer)*int(n%3)/3]); err != nil { // nothing, or a part
			c.t.Error(err)
		}
		return
	}
	if _, err = conn.Write(answer); err != nil {
		c.t.Error(err)
	}
}

// The server has committed, and the answer is cut on its way, again and again:
// the client comes back with its key and gets the one claim there is.
func TestLostAnswerIsOneClaim(t *testing.T) {
	p := realServer(t)
	operator := newSale(t, p, client.Sale{ID: "s", PerUser: 0, Hold: "1h", Items: []client.Item{{ID: "a", Stock: 1000}}}) // no limit would hide nothing
	lossy := newCutter(t, p.URL(), func(n int64) bool { return n%4 != 0 })
	buyers := connect(t, lossy.URL(), quick(50))
	const people = 40
	ids := make([]string, people)
	var wg sync.WaitGroup
	for i := range people {
		wg.Go(func() {
			claim, err := buyers.Claim(t.Context(), "s", client.Ask{User: fmt.Sprintf("u%d", i)})
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = claim.ID
		})
	}
	wg.Wait()
	seen := map[string]string{}
	for claim, err := range operator.Claims(t.Context(), "s", client.Query{Limit: 7}) {
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := seen[claim.User]; twice {
			t.Errorf("%s has two claims: %s and %s", claim.User, other, claim.ID)
		}
		seen[claim.User] = claim.ID
	}
	for i, id := range ids {
		if user := fmt.Sprintf("u%d", i); seen[user] != id {
			t.Errorf("%s was told %s and has %s", user, id, seen[user])
		}
	}
	if len(seen) != people {
		t.Errorf("%d people have a claim, want %d", len(seen), people)
	}
	if n := lossy.asked.Load(); n <= people {
		t.Errorf("nothing was lost: %d requests", n)
	}
}

// The same for a batch: its claims have a key each.
func TestLostBatchIsOneBatch(t *testing.T) {
	p := realServer(t)
	operator := newSale(t, p, client.Sale{ID: "s", PerUser: 0, Hold: "1h", Items: []client.Item{{ID: "a", Stock: 30}}})
	lossy := newCutter(t, p.URL(), func(n int64) bool { return n < 3 })
	shop := connect(t, lossy.URL(), client.WithToken(p.AdminToken()), quick(5))
	asks := make([]client.Ask, 40)
	for i := range asks {
		asks[i].User = fmt.Sprintf("u%d", i)
	}
	results, err := shop.ClaimBatch(t.Context(), "s", asks)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		switch {
		case i < 30 && (r.Err != nil || !r.Claim.Replayed || r.Claim.User != asks[i].User):
			t.Errorf("claim %d: %+v, %v", i, r.Claim, r.Err)
		case i >= 30 && client.CodeOf(r.Err) != client.SoldOut:
			t.Errorf("claim %d: %+v, %v", i, r.Claim, r.Err)
		}
	}
	stock, _, err := operator.Stock(t.Context(), "s")
	if err != nil || stock[0].Held != 30 || stock[0].Free != 0 {
		t.Errorf("%+v, %v", stock, err)
	}
}

// What must not be done twice is not tried twice.
func TestLostRestockIsNotRepeated(t *testing.T) {
	p := realServer(t)
	operator := newSale(t, p, client.Sale{ID: "s", Hold: "1h", Items: []client.Item{{ID: "a", Stock: 1}}})
	lossy := newCutter(t, p.URL(), func(int64) bool { return true })
	far := connect(t, lossy.URL(), client.WithToken(p.AdminToken()), quick(5))
	_, err := far.Restock(t.Context(), "s", "a", 10)
	if client.CodeOf(err) != client.Unreachable {
		t.Errorf("restock: %v", err)
	}
	stock, _, err := operator.Stock(t.Context(), "s")
	if err != nil || stock[0].Total != 11 || lossy.asked.Load() != 1 {
		t.Errorf("%+v, %v after %d requests", stock, err, lossy.asked.Load())
	}
}

// A stream that is cut goes on after the last event that arrived whole.
func TestEventsResume(t *testing.T) {
	p := realServer(t)
	operator := newSale(t, p, client.Sale{ID: "s", PerUser: 0, Hold: "1h", Items: []client.Item{{ID: "a", Stock: 100}}})
	for i := range 30 {
		if _, err := operator.Claim(t.Context(), "s", client.Ask{User: fmt.Sprintf("u%d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	var connections atomic.Int64
	backend, err := url.Parse(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	// A server that breaks every stream after 700 bytes, in the middle of an event.
	short := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connections.Add(1)
		r.URL.Scheme, r.URL.Host, r.RequestURI = backend.Scheme, backend.Host, ""
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
		copyFlushing(w, io.LimitReader(resp.Body, 700))
		panic(http.ErrAbortHandler)
	}))
	defer short.Close()
	defer http.DefaultClient.CloseIdleConnections()
	watcher := connect(t, short.URL, client.WithToken(p.AdminToken()), quick(3))
	var want int64 = 1
	for e, err := range watcher.Events(t.Context(), "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq != want {
			t.Fatalf("event %d, want %d", e.Seq, want)
		}
		if want++; want > 31 {
			break
		}
	}
	if connections.Load() < 5 {
		t.Errorf("nothing was cut: %d connections", connections.Load())
	}
}

// copyFlushing passes on what there is as soon as it is there.
func copyFlushing(w http.ResponseWriter, r io.Reader) {
	control := http.NewResponseController(w)
	for buf := make([]byte, 4096); ; {
		n, err := r.Read(buf)
		if _, writeErr := w.Write(buf[:n]); err != nil || writeErr != nil || control.Flush() != nil {
			return
		}
	}
}

// The client ends with its context, also while it waits to try again, and says so.
func TestContextEndsRetries(t *testing.T) {
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"code":"overloaded","detail":"too many"}`)
	}))
	defer busy.Close()
	c := connect(t, busy.URL, client.WithRetry(client.Retry{Attempts: 100, Pause: time.Hour, MaxPause: time.Hour, MaxRetryAfter: time.Minute}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Claim(ctx, "s", client.Ask{User: "u"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
