package server_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rushgate"
	"rushgate/admission"
	"rushgate/gate/memory"
	"rushgate/ledger/sqlite"
	"rushgate/server"
)

// The cost of a claim over HTTP, beside that of a handler that does nothing
// but read the same body and answer fixed JSON. Over the loopback the client's
// share is in the figures too; it is the same for all.

// empty is the handler to be measured against.
func empty(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"id":"7291840912345678","sale":"s","item":"a","user":"u1","quantity":1,"state":"held"}`)
}

func benchWorld(b *testing.B, stock int64) *server.Server {
	metrics := server.NewMetrics()
	ledger, err := sqlite.Open(b.Context(), b.TempDir(), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { ledger.Close() })
	shop, err := rushgate.Open(b.Context(), rushgate.Config{Gate: memory.New(), Ledger: ledger, Observe: metrics})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = shop.Close(b.Context()) })
	_, err = shop.CreateSale(b.Context(), rushgate.Sale{ID: "s", PerUser: 1, Hold: time.Hour, Items: []rushgate.Item{{ID: "a", Stock: stock}}})
	if err != nil {
		b.Fatal(err)
	}
	s, err := server.New(server.Config{Service: shop, Identity: admission.Dev{}, AdminToken: adminToken, Metrics: metrics, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func BenchmarkHandler(b *testing.B) {
	b.Run("empty", func(b *testing.B) { handle(b, http.HandlerFunc(empty)) })
	b.Run("refusal", func(b *testing.B) { handle(b, benchWorld(b, 0)) })
}

// handle calls a handler without a network.
func handle(b *testing.B, h http.Handler) {
	w := &discard{header: http.Header{}}
	body := strings.NewReader("")
	r, _ := http.NewRequest("POST", "http://x/v1/sales/s/claims", io.NopCloser(body))
	r.Header.Set("Content-Type", "application/json")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		text := `{"user":"u` + strconv.Itoa(i) + `","item":"a","quantity":1}`
		body.Reset(text)
		r.ContentLength = int64(len(text))
		clear(w.header)
		h.ServeHTTP(w, r)
	}
}

type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

// BenchmarkBatch reads, claims and answers 500 claims a request; the time is of one claim.
func BenchmarkBatch(b *testing.B) {
	h := benchWorld(b, rushgate.MaxStock)
	w := &discard{header: http.Header{}}
	b.ReportAllocs()
	for i := 0; i < b.N; i += 500 {
		var body strings.Builder
		for j := range 500 {
			fmt.Fprintf(&body, `,{"user":"u%d","item":"a","quantity":1}`, i+j)
		}
		r, _ := http.NewRequest("POST", "http://x/v1/sales/s/claims:batch", strings.NewReader(`{"claims":[`+body.String()[1:]+"]}"))
		r.Header.Set("Authorization", "Bearer "+adminToken)
		clear(w.header)
		h.ServeHTTP(w, r)
	}
}

func BenchmarkLoopback(b *testing.B) {
	for _, connections := range []int{64, 256} {
		b.Run(fmt.Sprintf("empty/%d", connections), func(b *testing.B) {
			h := &http.Server{Handler: http.HandlerFunc(empty)}
			loopback(b, h, listen(b), connections)
		})
		for _, c := range []struct {
			name  string
			stock int64
		}{{"refusal", 0}, {"claim", rushgate.MaxStock}} {
			b.Run(fmt.Sprintf("%s net-http/%d", c.name, connections), func(b *testing.B) {
				s := benchWorld(b, c.stock)
				loopback(b, s.HTTPServer(), listen(b), connections)
			})
			b.Run(fmt.Sprintf("%s lane/%d", c.name, connections), func(b *testing.B) {
				s := benchWorld(b, c.stock)
				l := s.Express(s.Limit(listen(b), server.MaxConnections))
				b.Cleanup(func() { _ = l.Shutdown(b.Context()) })
				loopback(b, s.HTTPServer(), l, connections)
			})
		}
	}
}

func listen(b *testing.B) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// loopback sends b.N requests over so many connections, each with a user of its own.
func loopback(b *testing.B, h *http.Server, l net.Listener, connections int) {
	served := make(chan struct{})
	go func() { defer close(served); _ = h.Serve(l) }()
	b.Cleanup(func() { h.Close(); <-served })
	var user atomic.Int64
	b.SetParallelism(connections / 2) // times GOMAXPROCS
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			b.Error(err)
			return
		}
		defer conn.Close()
		in, out := bufio.NewReader(conn), []byte(nil)
		for pb.Next() {
			out = appendRequest(out[:0], user.Add(1))
			if _, err := conn.Write(out); err != nil {
				b.Error(err)
				return
			}
			if err := skipAnswer(in); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.StopTimer()
}

func appendRequest(b []byte, user int64) []byte {
	body := fmt.Appendf(nil, `{"user":"u%d","item":"a","quantity":1}`, user)
	b = append(b, "POST /v1/sales/s/claims HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(len(body)), 10)
	return append(append(b, "\r\n\r\n"...), body...)
}

// skipAnswer reads one answer, as little of it as must be.
func skipAnswer(in *bufio.Reader) error {
	length := 0
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			_, err := in.Discard(length)
			return err
		}
		if n, ok := strings.CutPrefix(string(line), "Content-Length: "); ok {
			length, _ = strconv.Atoi(strings.TrimSpace(n))
		}
	}
}
