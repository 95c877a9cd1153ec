package limithttp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"rushgate/limit"
	"rushgate/limit/limithttp"
)

// noon is a clock that stands still, for output that is the same every time.
func noon() time.Time { return time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC) }

func Example() {
	perAddress, err := limit.NewMemory(limit.FixedWindow(1, time.Minute), limit.MemoryOptions{Clock: noon})
	if err != nil {
		panic(err)
	}
	rules, err := limit.Alone("address", perAddress)
	if err != nil {
		panic(err)
	}
	limited, err := limithttp.New(rules, limithttp.Options{
		Keys: []limithttp.Key{limithttp.Address(1)}, // behind one proxy of ours
		Away: limithttp.Pass,
	})
	if err != nil {
		panic(err)
	}
	handler := limited.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello") }))
	for range 2 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		fmt.Printf("%d %s %s %q\n", w.Code, w.Header().Get("RateLimit-Policy"), w.Header().Get("RateLimit"), w.Header().Get("Retry-After"))
		fmt.Println(w.Body)
	}
	// Output:
	// 200 "address";q=1;w=60 "address";r=0;t=60 ""
	// hello
	// 429 "address";q=1;w=60 "address";r=0;t=60 "60"
	// {"type":"about:blank","title":"Too many requests","status":429,"detail":"the limit address is reached; come back after Retry-After","code":"rate_limited","rule":"address","retry_after":60}
}
