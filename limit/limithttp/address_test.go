package limithttp_test

import (
	"net/http"
	"testing"

	"rushgate/limit/limithttp"
)

func TestAddress(t *testing.T) {
	for name, c := range map[string]struct {
		proxies   int
		peer      string
		forwarded []string
		want      string
	}{
		"the peer":                          {0, "192.0.2.7:999", nil, "192.0.2.7"},
		"a client's own word":               {0, "192.0.2.7:999", []string{"198.51.100.1"}, "192.0.2.7"},
		"one proxy":                         {1, "10.0.0.1:999", []string{"198.51.100.1"}, "198.51.100.1"},
		"one proxy and a client's own word": {1, "10.0.0.1:999", []string{"203.0.113.9, 198.51.100.1"}, "198.51.100.1"},
		"two proxies":                       {2, "10.0.0.1:999", []string{"203.0.113.9, 198.51.100.1, 10.0.0.2"}, "198.51.100.1"},
		"two proxies, a field each":         {2, "10.0.0.1:999", []string{"203.0.113.9", "198.51.100.1", "10.0.0.2"}, "198.51.100.1"},
		"past the proxies":                  {2, "203.0.113.9:999", []string{"198.51.100.1"}, "203.0.113.9"},
		"past the proxies, no field":        {1, "203.0.113.9:999", nil, "203.0.113.9"},
		"no address":                        {1, "203.0.113.9:999", []string{"unknown"}, "203.0.113.9"},
		"an address with a port":            {1, "10.0.0.1:999", []string{"198.51.100.1:4711"}, "198.51.100.1"},
		"IPv6":                              {0, "[2001:db8:1:2:3:4:5:6]:999", nil, "2001:db8:1:2::/64"},
		"IPv6 of the same customer":         {1, "10.0.0.1:999", []string{"2001:db8:1:2::1"}, "2001:db8:1:2::/64"},
		"IPv6 in brackets with a port":      {1, "10.0.0.1:999", []string{"[2001:db8:1:2::1]:4711"}, "2001:db8:1:2::/64"},
		"IPv4 in IPv6":                      {0, "[::ffff:192.0.2.7]:999", nil, "192.0.2.7"},
		"a zone":                            {0, "[fe80::1%eth0]:999", nil, "fe80::/64"},
		"a Unix socket":                     {0, "@", nil, "peer @"},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{"X-Forwarded-For": c.forwarded}}
		if got := limithttp.Address(c.proxies)(r); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// FuzzAddress: whatever a client writes, it cannot become somebody else's peer,
// and there is always a key.
func FuzzAddress(f *testing.F) {
	f.Add("198.51.100.1, 10.0.0.2", 1)
	f.Add(",,", 2)
	f.Add("[::1]:80", 1)
	f.Fuzz(func(t *testing.T, forwarded string, proxies int) {
		through := &http.Request{RemoteAddr: "10.0.0.1:999", Header: http.Header{"X-Forwarded-For": {forwarded, "198.51.100.1"}}}
		if got := limithttp.Address(1)(through); got != "198.51.100.1" {
			t.Errorf("%q before the proxy's entry makes %q", forwarded, got)
		}
		direct := &http.Request{RemoteAddr: "10.0.0.1:999", Header: http.Header{"X-Forwarded-For": {forwarded}}}
		if got := limithttp.Address(0)(direct); got != "10.0.0.1" {
			t.Errorf("%q without proxies makes %q", forwarded, got)
		}
		if key := limithttp.Address(proxies); (key == nil) != (proxies < 0) || key != nil && key(direct) == "" {
			t.Errorf("%q and %d proxies: no key", forwarded, proxies)
		}
	})
}
