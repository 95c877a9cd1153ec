package app

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"rushgate/internal/lane"
)

// A request in the lane that lasts until net/http is told to stop must not
// keep net/http from being told.
func TestLaneAndHTTPServerStopSideBySide(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	entered, told := make(chan struct{}), make(chan struct{})
	l := lane.Listen(inner, lane.Config{
		Match: func([]byte) bool { return true },
		Serve: func(_ *lane.Request, reply *lane.Reply) { close(entered); <-told; reply.Status = 200 }})
	h := &http.Server{}
	h.RegisterOnShutdown(func() { close(told) })
	served := make(chan struct{})
	go func() { defer close(served); _ = h.Serve(l) }()
	answered := make(chan error, 1)
	go func() {
		resp, err := http.Post("http://"+inner.Addr().String()+"/x", "text/plain", strings.NewReader("x"))
		if err == nil {
			err = resp.Body.Close()
		}
		answered <- err
	}()
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // so that a wait fails, and does not hang
	defer cancel()
	if err := shutdown(ctx, l, h); err != nil {
		t.Error(err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
	<-served
	http.DefaultClient.CloseIdleConnections()
}
