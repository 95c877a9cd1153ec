package server_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// slowDisk holds commits back while it is shut.
type slowDisk struct {
	gate  sync.Mutex
	began chan struct{} // receives when a commit has to wait
}

func newSlowDisk() *slowDisk { return &slowDisk{began: make(chan struct{}, 1)} }

func (d *slowDisk) commit(do func() error) error {
	if !d.gate.TryLock() {
		d.began <- struct{}{}
		d.gate.Lock()
	}
	defer d.gate.Unlock()
	return do()
}

// waitFor returns when n claims wait at the desk.
func (w *world) waitFor(n int) {
	w.t.Helper()
	for claims, _ := w.shop.Waiting(); claims != n; claims, _ = w.shop.Waiting() {
		if w.t.Context().Err() != nil {
			w.t.Fatalf("%d claims wait", claims)
		}
		runtime.Gosched()
	}
}

func TestAFullQueueSaysSoAtOnce(t *testing.T) {
	disk := newSlowDisk()
	w := start(t, func(w *world) { w.queue, w.commit = 2048, disk.commit })
	w.sale("s", 10_000, "")
	disk.gate.Lock()
	var waiting sync.WaitGroup
	results := make(chan error, 8)
	send := func(a ask) {
		waiting.Go(func() {
			got, err := w.try(a)
			if err == nil && got.status/100 != 2 {
				err = errors.New(got.raw)
			}
			results <- err
		})
	}
	batch := func(name string) ask {
		body := `{"claims":[` + strings.Repeat(`{"user":"`+name+`"},`, 999) + `{"user":"` + name + `"}]}`
		return ask{"POST", "/v1/sales/s/claims:batch", body, []string{"Authorization", "Bearer " + adminToken}}
	}
	send(batch("a"))
	<-disk.began // the desk has these in hand
	send(batch("b"))
	w.waitFor(1000)
	send(batch("c"))
	w.waitFor(2000)
	got := w.want(w.send(batch("d")), 503, "overloaded")
	if got.header.Get("Retry-After") == "" {
		t.Error(got.header)
	}
	disk.gate.Unlock()
	waiting.Wait()
	close(results)
	for err := range results {
		w.must(err)
	}
	w.want(w.claim("s", `{"user":"later"}`), 201, "")
}

// TestABuyerWhoLeavesTheQueueHasNothing takes the way through net/http, which
// sees that a caller has left; the lane does not look.
func TestABuyerWhoLeavesTheQueueHasNothing(t *testing.T) {
	disk := newSlowDisk()
	w := start(t, func(w *world) { w.commit = disk.commit })
	w.sale("s", 10, "")
	disk.gate.Lock()
	first := make(chan answer, 1)
	go func() {
		got, _ := w.try(ask{"POST", "/v1/sales/s/claims", `{"user":"first"}`, nil})
		first <- got
	}()
	<-disk.began // the desk has the first claim in hand
	ctx, leave := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, "POST", "http://x/v1/sales/s/claims", strings.NewReader(`{"user":"second"}`))
	rec, answered := httptest.NewRecorder(), make(chan struct{})
	go func() { defer close(answered); w.server.ServeHTTP(rec, r) }()
	w.waitFor(1)
	leave()
	<-answered
	if rec.Code != http.StatusServiceUnavailable {
		t.Error(rec.Code, rec.Body)
	}
	disk.gate.Unlock()
	w.want(<-first, http.StatusCreated, "")
	if got := w.admin("GET", "/v1/sales/s/claims", ""); strings.Contains(got.raw, "second") || !strings.Contains(got.raw, "first") {
		t.Error(got.raw)
	}
}
