package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"rushgate/client"
)

// scripted answers with one step of a script after the other, and remembers
// the idempotency keys that it saw.
type scripted struct {
	steps []step
	keys  []string
}

type step struct {
	status int
	header string // Retry-After
	body   string
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := s.steps[min(len(s.keys), len(s.steps)-1)]
	s.keys = append(s.keys, r.Header.Get("Idempotency-Key"))
	if now.header != "" {
		w.Header().Set("Retry-After", now.header)
	}
	w.WriteHeader(now.status)
	fmt.Fprint(w, now.body)
}

const (
	granted    = `{"id":"7","sale":"s","item":"a","user":"u","quantity":1,"state":"held","created_at":"2026-01-01T00:00:00Z"}`
	overloaded = `{"type":"about:blank","status":503,"code":"overloaded","detail":"too many requests wait already"}`
	soldOut    = `{"status":409,"code":"sold_out","detail":"not enough units are free"}`
)

func TestRetries(t *testing.T) {
	for name, c := range map[string]struct {
		steps    []step
		attempts int // in all
		code     client.Code
	}{
		"granted at once":        {[]step{{201, "", granted}}, 1, ""},
		"a refusal is an answer": {[]step{{409, "", soldOut}}, 1, client.SoldOut},
		"overloaded, then not":   {[]step{{503, "0", overloaded}, {503, "0", overloaded}, {201, "", granted}}, 3, ""},
		"a proxy in between":     {[]step{{502, "", "<html>Bad Gateway</html>"}, {201, "", granted}}, 2, ""},
		"rate limited":           {[]step{{429, "0", `{"code":"rate_limited"}`}, {200, "", granted}}, 2, ""},
		"it gives up":            {[]step{{503, "0", overloaded}}, 4, client.Overloaded},
		"asked to wait too long": {[]step{{503, "3600", overloaded}, {201, "", granted}}, 1, client.Overloaded},
		"a date far away":        {[]step{{429, time.Now().Add(48 * time.Hour).UTC().Format(http.TimeFormat), `{"code":"rate_limited"}`}}, 1, client.RateLimited},
		"somebody else's page":   {[]step{{404, "", "<html>not here</html>"}}, 1, client.Strange},
		"no JSON":                {[]step{{200, "", "hello"}}, 1, client.Strange},
		"an empty answer":        {[]step{{201, "", ""}}, 1, client.Strange},
	} {
		t.Run(name, func(t *testing.T) {
			script := &scripted{steps: c.steps}
			s := httptest.NewServer(script)
			defer s.Close()
			shop := connect(t, s.URL, quick(4))
			claim, err := shop.Claim(t.Context(), "s", client.Ask{User: "u"})
			if client.CodeOf(err) != c.code || (c.code == "" && (err != nil || claim.ID != "7")) {
				t.Errorf("%+v, %v; want the code %q", claim, err, c.code)
			}
			if len(script.keys) != c.attempts {
				t.Errorf("%d attempts, want %d", len(script.keys), c.attempts)
			}
			for _, key := range script.keys {
				if key == "" || key != script.keys[0] {
					t.Errorf("the attempts had the keys %q", script.keys)
				}
			}
			shop.Close()
		})
	}
}

// Two claims of one client never share a key; a caller's own key is used.
func TestKeysAreTheCallersOrNew(t *testing.T) {
	script := &scripted{steps: []step{{201, "", granted}}}
	s := httptest.NewServer(script)
	defer s.Close()
	c := connect(t, s.URL)
	for _, key := range []string{"", "", "mine"} {
		if _, err := c.Claim(t.Context(), "s", client.Ask{User: "u", Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	if k := script.keys; k[0] == k[1] || k[2] != "mine" {
		t.Errorf("keys %q", k)
	}
	c.Close()
}
