package server_test

import (
	"bufio"
	"net/http"
	"strings"
	"sync"
	"testing"

	"rushgate/server"
)

// standby is a world whose service has been taken away.
func standby(t *testing.T) *world {
	t.Helper()
	w := start(t)
	w.sale("s", 5, "")
	w.server.Detach("standby: another leads")
	return w
}

// A standby answers everything that needs no service, and refuses the rest so
// that whoever asks comes back, whoever it is.
func TestAStandbyServesNoSale(t *testing.T) {
	w := standby(t)
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 503, "/metrics": 200, "/docs": 200, "/openapi.json": 200, "/": 200} {
		if got := w.send(ask{method: "GET", path: path}); got.status != want {
			t.Errorf("%s: %d, want %d", path, got.status, want)
		}
	}
	ready := w.send(ask{method: "GET", path: "/readyz"})
	if ready.text("reason") != "standby: another leads" || ready.header.Get("Retry-After") == "" {
		t.Errorf("%s, Retry-After %q", ready.raw, ready.header.Get("Retry-After"))
	}
	for _, name := range server.RouteNames() {
		method, path, _ := strings.Cut(name, " ")
		if !strings.HasPrefix(path, "/v1/") {
			continue
		}
		path = strings.NewReplacer("{sale}", "s", "{id}", "1").Replace(path)
		for _, token := range []string{"", "Bearer " + adminToken, "Bearer wrong"} {
			got := w.want(w.send(ask{method, path, "{}", []string{"Authorization", token}}), 503, "unavailable")
			if got.header.Get("Retry-After") == "" {
				t.Errorf("%s: no Retry-After", name)
			}
		}
	}
	// The same claim past the express lane, which takes no escapes.
	w.want(w.send(ask{"POST", "/v1/sales/%73/claims", `{"user":"u"}`, nil}), 503, "unavailable")
	if metrics := w.send(ask{method: "GET", path: "/metrics"}).raw; strings.Contains(metrics, "rushgate_stock_units{") || !strings.Contains(metrics, "rushgate_queue_claims 0") {
		t.Error("a standby shows a stock")
	}
}

// A service that is attached is found by the next call.
func TestAttachServesAgain(t *testing.T) {
	w := standby(t)
	w.want(w.claim("s", `{"user":"u"}`), 503, "unavailable")
	w.server.Attach(w.shop)
	w.want(w.claim("s", `{"user":"u"}`), 201, "")
	w.want(w.send(ask{method: "GET", path: "/readyz"}), 200, "")
	if metrics := w.send(ask{method: "GET", path: "/metrics"}).raw; !strings.Contains(metrics, `rushgate_stock_units{item="a",sale="s",state="free"} 4`) {
		t.Error("the stock of the attached service is not shown")
	}
}

// Streams end with the service that they read from: their readers come back and
// find the one that serves now.
func TestDetachEndsStreams(t *testing.T) {
	w := start(t)
	w.sale("s", 5, "")
	r, err := http.NewRequest("GET", w.http.URL+"/v1/sales/s/events", nil)
	w.must(err)
	r.Header.Set("Authorization", "Bearer "+adminToken)
	resp, err := w.http.Client().Do(r)
	w.must(err)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "id: 1") { // it has begun
	}
	w.server.Detach("standby")
	for lines.Scan() { // until the server ends it
	}
	w.must(lines.Err())
}

// Whatever the moment, a call finds a service or none: each claim is granted or
// told to come again, and what was granted is there.
func TestAttachAndDetachInAStampede(t *testing.T) {
	w := start(t)
	w.sale("s", 1000, "")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				w.server.Detach("standby")
				w.server.Attach(w.shop)
			}
		}
	}()
	granted := make([]int, 8)
	var wg sync.WaitGroup
	for n := range granted {
		wg.Go(func() {
			for i := range 50 {
				got, err := w.try(ask{"POST", "/v1/sales/s/claims", `{"user":"u` + itoa(n) + `-` + itoa(i) + `"}`, nil})
				switch {
				case err != nil:
					t.Error(err)
				case got.status == 201:
					granted[n]++
				case got.status != 503:
					t.Errorf("%d: %s", got.status, got.raw)
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	<-done
	sum := 0
	for _, n := range granted {
		sum += n
	}
	stock, _, err := w.shop.Stock(t.Context(), "s")
	w.must(err)
	if stock[0].Held != int64(sum) {
		t.Errorf("%d were granted, and %d are held", sum, stock[0].Held)
	}
}

// A reason of the process's own makes the server unready, not unable.
func TestUnreadyForAReasonOutside(t *testing.T) {
	reason := "the ledger does not answer"
	w := start(t, func(w *world) { w.unready = func() string { return reason } })
	got := w.send(ask{method: "GET", path: "/readyz"})
	if got.status != 503 || got.text("reason") != reason {
		t.Errorf("%d: %s", got.status, got.raw)
	}
	w.sale("s", 1, "")
	reason = ""
	w.want(w.send(ask{method: "GET", path: "/readyz"}), 200, "")
}
