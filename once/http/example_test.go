package oncehttp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"rushgate/once"
	oncehttp "rushgate/once/http"
)

// A client that got no answer repeats its request, with the same key.
func Example() {
	store, _ := once.NewMemory(once.MemoryConfig{})
	o, _ := once.New(once.Config{Store: store})
	keys, _ := oncehttp.New(oncehttp.Config{Once: o, Scope: func(r *http.Request) string { return r.Header.Get("Authorization") }})

	mux := http.NewServeMux()
	mux.Handle("POST /orders", keys(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("an order is placed")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "order 17")
	})))

	for _, body := range []string{"shoes", "shoes", "shirts"} {
		r := httptest.NewRequest("POST", "/orders", strings.NewReader(body))
		r.Header.Set("Idempotency-Key", `"8e03978e-40d5-43dd-bc93-6894a57f9324"`)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Printf("%d %q\n", w.Code, w.Header().Get("Idempotency-Replayed"))
	}
	// Output:
	// an order is placed
	// 201 ""
	// 201 "true"
	// 422 ""
}
