package baseline

import (
	"io"
	"net/http"
)

// Empty is baseline (a): net/http with its plain settings, reading the body
// and answering a fixed document of the size of a claim. It decides nothing
// and remembers nothing, so it is the most that a server built on net/http can
// reach on this machine; what Rushgate does is measured as a share of it.
func Empty() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
			refuse(w, http.StatusRequestEntityTooLarge, "invalid")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(fixed)
	})
	return mux
}

var fixed = []byte(`{"id":"7291840912345678","sale":"bench","item":"black-128","user":"u0123456789abcdef",` +
	`"quantity":1,"state":"confirmed","created_at":"2026-11-11T00:00:00.123Z"}`)
