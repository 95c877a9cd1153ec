package oncehttp_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rushgate/once"
	oncehttp "rushgate/once/http"
)

// TestAnswersAreThoseOfNetHTTP: what a handler answers goes through a server in
// the same way with the middleware as without it, at first and repeated.
func TestAnswersAreThoseOfNetHTTP(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"nothing":    func(http.ResponseWriter, *http.Request) {},
		"no content": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) },
		"text":       func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") },
		"html":       func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"compressed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "\x1f\x8b\x08 and so on")
		},
		"no type": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = io.WriteString(w, "hello")
		},
		"Latin-1 in a field": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", "attachment; filename=\"caf\xe9\"")
			w.WriteHeader(201)
		},
		"no such status":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(1000) },
		"no status at all": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(42) },
		"early hints": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "</a.css>")
			w.WriteHeader(103)
			_, _ = io.WriteString(w, "hello")
		},
		"late fields": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(202)
			w.Header().Set("X-Late", "1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := told(t, handler)
			h := wrapped(t, oncehttp.Config{}, once.Config{}, handler)
			for _, which := range []string{"first", "repeated"} {
				if diff := cmp.Diff(want, told(t, h)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", which, diff)
				}
			}
		})
	}
}

// told is what a client of a server sees of an answer.
func told(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of panics
	server.Start()
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(oncehttp.Header, "k")
	answer, err := server.Client().Do(r)
	if err != nil {
		return "no answer"
	}
	defer answer.Body.Close()
	answer.Header.Del("Date")
	answer.Header.Del("Idempotency-Replayed")
	body, err := io.ReadAll(answer.Body)
	return fmt.Sprintf("%d %q %q %v", answer.StatusCode, answer.Header, body, err)
}
