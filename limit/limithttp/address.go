package limithttp

import (
	"net/http"
	"net/netip"
	"strings"
)

// prefix6 is how much of an IPv6 address is one caller: providers give every
// customer 64 bits to choose addresses from (RFC 6177).
const prefix6 = 64

// Everybody is the Key of a rule that counts all requests together.
func Everybody(*http.Request) string { return "all" }

// Address is a Key by the address of the client, an IPv6 address by its first 64
// bits. It is the peer's, unless there are so many trusted proxies before this
// server, each of which adds the address of its own peer to X-Forwarded-For: then
// it is the one that the outermost of them has added. What stands before that was
// written by the client, and is not believed. A request that has fewer entries,
// or no address there, did not come through the proxies: the peer's counts. There is
// no Address for a negative number: it is nil, and New says so.
func Address(proxies int) Key {
	if proxies < 0 {
		return nil
	}
	return func(r *http.Request) string {
		peer := normal(r.RemoteAddr)
		if proxies == 0 {
			return peer
		}
		entries := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		if len(entries) < proxies {
			return peer
		}
		client, err := parse(strings.TrimSpace(entries[len(entries)-proxies]))
		if err != nil {
			return peer
		}
		return caller(client)
	}
}

// normal returns the caller at an address, or what is written there if it is
// none: of a connection over a Unix socket, say.
func normal(remote string) string {
	a, err := parse(remote)
	if err != nil {
		return "peer " + remote
	}
	return caller(a)
}

// parse reads an address with or without a port.
func parse(s string) (netip.Addr, error) {
	if a, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return a, nil
	}
	ap, err := netip.ParseAddrPort(s)
	return ap.Addr(), err
}

func caller(a netip.Addr) string {
	a = a.Unmap()
	if a.Is6() {
		p, _ := a.Prefix(prefix6) // 64 is a length that every IPv6 address has; it has no zone
		return p.String()
	}
	return a.String()
}
