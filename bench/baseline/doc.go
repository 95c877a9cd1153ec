// Package baseline holds what Rushgate is measured against: an HTTP server
// that does nothing, and two ordinary ways to sell. Each speaks the one
// endpoint of Rushgate that matters here, POST /v1/sales/{sale}/claims, with
// the same body and an answer of the same size, so that one load fits all.
package baseline

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// route is the claim endpoint of the API.
const route = "POST /v1/sales/{sale}/claims"

// maxBody is the API's limit of a body.
const maxBody = 64 << 10

// claim is the request body of the claim endpoint.
type claim struct {
	User     string `json:"user"`
	Item     string `json:"item"`
	Quantity int64  `json:"quantity"`
}

func decode(w http.ResponseWriter, r *http.Request) (claim, bool) {
	var c claim
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&c); err != nil || c.User == "" {
		refuse(w, http.StatusBadRequest, "invalid")
		return c, false
	}
	return c, true
}

// receipt is the answer to a claim that was granted.
type receipt struct {
	ID        string    `json:"id"`
	Sale      string    `json:"sale"`
	Item      string    `json:"item"`
	User      string    `json:"user"`
	Quantity  int64     `json:"quantity"`
	State     string    `json:"state"`
	CreatedAt time.Time `json:"created_at"`
}

func grant(w http.ResponseWriter, sale string, c *claim, id int64) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	// An error means that the buyer has gone; there is nobody to tell.
	_ = json.NewEncoder(w).Encode(receipt{ID: strconv.FormatInt(id, 10), Sale: sale, Item: c.Item,
		User: c.User, Quantity: 1, State: "confirmed", CreatedAt: time.Now().UTC()})
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{"type":"about:blank","title":"` + http.StatusText(status) + `","status":` +
		strconv.Itoa(status) + `,"code":"` + code + `"}`))
}
