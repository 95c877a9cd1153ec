package server_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"rushgate/admission"
)

const apiKey = "api-key-of-the-shop"

var secret = []byte("0123456789abcdef0123456789abcdef")

// token signs a token for a user, good for an hour of the tests' clock.
func token(t testing.TB, user string) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: secret}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(jwt.Claims{Subject: user, Expiry: jwt.NewNumericDate(newClock().Now().Add(time.Hour))}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func identities(t *testing.T, w *world) map[string]admission.Identity {
	keys, err := admission.NewKeys(apiKey, "the-key-before")
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := admission.NewJWT(admission.JWTConfig{Secret: secret, Now: w.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]admission.Identity{"dev": admission.Dev{}, "backend": admission.NewTrustedBackend(keys), "jwt": tokens}
}

// TestWhoMayDoWhat asks for every route as every caller under every identity.
// The rows say what each caller gets: 2 for success, or the status. The claim
// belongs to alice.
func TestWhoMayDoWhat(t *testing.T) {
	callers := []string{"nobody", "stranger", "alice", "bob", "shop", "admin"}
	table := []struct {
		identity, route string
		want            [6]int // by caller
	}{
		//                             nobody stranger alice bob shop admin
		{"dev", "operate", [6]int{401, 401, 401, 401, 401, 2}},
		{"dev", "batch", [6]int{401, 401, 401, 401, 401, 2}},
		{"dev", "claim", [6]int{2, 2, 2, 2, 2, 2}},
		{"dev", "get", [6]int{2, 2, 2, 2, 2, 2}},
		{"dev", "confirm", [6]int{2, 2, 2, 2, 2, 2}},
		{"dev", "release", [6]int{2, 2, 2, 2, 2, 2}},
		{"dev", "public", [6]int{2, 2, 2, 2, 2, 2}},
		{"backend", "operate", [6]int{401, 401, 401, 401, 403, 2}},
		{"backend", "batch", [6]int{401, 401, 401, 401, 2, 2}},
		{"backend", "claim", [6]int{401, 401, 401, 401, 2, 2}},
		{"backend", "get", [6]int{401, 401, 401, 401, 2, 2}},
		{"backend", "confirm", [6]int{401, 401, 401, 401, 2, 2}},
		{"backend", "release", [6]int{401, 401, 401, 401, 2, 2}},
		{"backend", "public", [6]int{2, 2, 2, 2, 2, 2}},
		{"jwt", "operate", [6]int{401, 401, 403, 403, 401, 2}},
		{"jwt", "batch", [6]int{401, 401, 403, 403, 401, 2}},
		{"jwt", "claim", [6]int{401, 401, 2, 400, 401, 2}}, // the body names alice
		{"jwt", "get", [6]int{401, 401, 2, 404, 401, 2}},
		{"jwt", "confirm", [6]int{401, 401, 403, 403, 401, 2}},
		{"jwt", "release", [6]int{401, 401, 2, 404, 401, 2}},
		{"jwt", "public", [6]int{2, 2, 2, 2, 2, 2}},
	}
	credentials := map[string]string{"nobody": "", "stranger": "made-up", "alice": token(t, "alice"), "bob": token(t, "bob"), "shop": apiKey, "admin": adminToken}
	for _, row := range table {
		t.Run(row.identity+" "+row.route, func(t *testing.T) {
			w := start(t, func(w *world) { w.identity = identities(t, w)[row.identity] })
			w.sale("s", 1000, `,"per_user":0`)
			for i, caller := range callers {
				var header []string
				if c := credentials[caller]; c != "" {
					header = []string{"Authorization", "Bearer " + c}
				}
				for _, a := range requestsOf(w, row.route) {
					a.header = header
					got := w.send(a)
					if got.status != row.want[i] && got.status/100 != row.want[i] {
						t.Errorf("%s: %s %s: %d, want %d: %s", caller, a.method, a.path, got.status, row.want[i], got.raw)
					}
				}
			}
		})
	}
}

// requestsOf returns the requests of one kind; a claim they are about is fresh.
func requestsOf(w *world, route string) []ask {
	fresh := func() string { return w.admin("POST", "/v1/sales/s/claims", `{"user":"alice"}`).text("id") }
	switch route {
	case "operate":
		return []ask{
			{method: "PATCH", path: "/v1/sales/s", body: `{"name":"n"}`}, {method: "POST", path: "/v1/sales/s/restock", body: `{"add":1}`},
			{method: "POST", path: "/v1/sales/s/freeze"}, {method: "POST", path: "/v1/sales/s/resume"},
			{method: "GET", path: "/v1/sales/s/stock"}, {method: "GET", path: "/v1/sales/s/claims"}, {method: "GET", path: "/v1/sales/s/audit"},
			{method: "POST", path: "/v1/sales", body: `{"items":[{"id":"a","stock":1}]}`}, {method: "POST", path: "/v1/sales/s/close"},
		}
	case "batch":
		return []ask{{method: "POST", path: "/v1/sales/s/claims:batch", body: `{"claims":[{"user":"alice"}]}`}}
	case "claim":
		return []ask{{method: "POST", path: "/v1/sales/s/claims", body: `{"user":"alice"}`}}
	case "get":
		return []ask{{method: "GET", path: "/v1/claims/" + fresh()}}
	case "public":
		return []ask{{method: "GET", path: "/v1/sales"}, {method: "GET", path: "/v1/sales/s"}, {method: "GET", path: "/healthz"}, {method: "GET", path: "/docs"}}
	}
	return []ask{{method: "POST", path: "/v1/claims/" + fresh() + "/" + route}}
}

func TestSomebodyElsesClaimLooksLikeNone(t *testing.T) {
	w := start(t, func(w *world) { w.identity = identities(t, w)["jwt"] })
	w.sale("s", 1, "")
	mine := w.want(w.claim("s", `{}`, "Authorization", "Bearer "+token(t, "alice")), 201, "")
	if mine.text("user") != "alice" {
		t.Fatal(mine.raw)
	}
	for _, verb := range []string{"GET ", "POST /release"} {
		var method, tail string
		fmt.Sscan(verb, &method, &tail)
		theirs := w.send(ask{method, "/v1/claims/" + mine.text("id") + tail, "", []string{"Authorization", "Bearer " + token(t, "bob")}})
		none := w.send(ask{method, "/v1/claims/1234567" + tail, "", []string{"Authorization", "Bearer " + token(t, "bob")}})
		if theirs.raw != none.raw || theirs.status != 404 {
			t.Errorf("%s: %s is told from %s", verb, theirs.raw, none.raw)
		}
	}
}

func TestKeysOfTwoUsersNeverMeet(t *testing.T) {
	w := start(t, func(w *world) { w.identity = identities(t, w)["jwt"] })
	w.sale("s", 2, "")
	for _, user := range []string{"alice", "bob"} {
		got := w.want(w.claim("s", `{}`, "Idempotency-Key", "order-1", "Authorization", "Bearer "+token(t, user)), 201, "")
		if got.text("user") != user {
			t.Fatal(got.raw)
		}
	}
}

func TestAnExpiredTokenBuysNothing(t *testing.T) {
	w := start(t, func(w *world) { w.identity = identities(t, w)["jwt"] })
	w.sale("s", 2, "")
	alice := token(t, "alice")
	w.clock.Add(2 * time.Hour)
	w.want(w.claim("s", `{}`, "Authorization", "Bearer "+alice), 401, "unauthenticated")
}
