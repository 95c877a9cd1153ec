package lane

import "bytes"

// parse reads the head of a request: request line and headers. It returns the
// length of the head and of the body that follows, and ok only if the request
// is complete up to its body and plain in every respect. It is deliberately
// narrow: what it does not know is not ok.
func parse(b []byte, r *Request, match func([]byte) bool) (head, length int, ok bool) {
	const method, version = "POST ", " HTTP/1.1"
	end := bytes.Index(b, crlf)
	if end < len(method)+len(version)+1 || string(b[:len(method)]) != method || string(b[end-len(version):end]) != version {
		return 0, 0, false
	}
	path := b[len(method) : end-len(version)]
	if !plainPath(path) || !match(path) {
		return 0, 0, false
	}
	*r = Request{Path: path}
	h := heads{length: -1}
	for at := end + len(crlf); ; {
		line := b[at:]
		end := bytes.Index(line, crlf)
		if end < 0 {
			return 0, 0, false
		}
		line, at = line[:end], at+end+len(crlf)
		if end == 0 {
			return at, h.length, h.length >= 0 && h.hosts == 1 && (!h.origin || r.Browser)
		}
		name, value, ok := header(line)
		if !ok || !r.note(name, value, &h) {
			return 0, 0, false
		}
	}
}

var crlf = []byte("\r\n")

// header splits a header line into its name and its value without the white
// space around it.
func header(line []byte) (name, value []byte, ok bool) {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 {
		return nil, nil, false
	}
	name, value = line[:colon], bytes.Trim(line[colon+1:], " \t")
	for _, c := range name {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return nil, nil, false
		}
	}
	for _, c := range value {
		if (c < ' ' && c != '\t') || c > '~' {
			return nil, nil, false
		}
	}
	return name, value, true
}

// heads is what is known of the headers while they are read.
type heads struct {
	length int // Content-Length, -1 before it was seen
	hosts  int
	origin bool // the request has an Origin
}

// note keeps the headers that matter, lets those pass that do not, and says
// false to those that net/http must see. A header that matters must not be
// there twice.
func (r *Request) note(name, value []byte, h *heads) bool {
	switch len(name) {
	case len("Te"):
		return !is(name, "te")
	case len("Host"):
		if is(name, "host") {
			h.hosts++
			return plainHost(value)
		}
	case len("Origin"): // and Expect
		h.origin = h.origin || is(name, "origin")
		return !is(name, "expect")
	case len("Upgrade"): // and Trailer
		return !is(name, "upgrade") && !is(name, "trailer")
	case len("Connection"):
		// Go's and other clients say nothing, wrk says nothing; some say what
		// is the case anyway.
		return !is(name, "connection") || is(value, "keep-alive")
	case len("Content-Type"): // and X-Request-Id
		return (!is(name, "content-type") || once(&r.ContentType, value)) && (!is(name, "x-request-id") || once(&r.RequestID, value))
	case len("Authorization"):
		return !is(name, "authorization") || once(&r.Authorization, value)
	case len("Content-Length"): // and Sec-Fetch-Site
		if is(name, "sec-fetch-site") {
			r.Browser = is(value, "same-origin") || is(value, "none")
			return r.Browser
		}
		return !is(name, "content-length") || h.length < 0 && number(value, &h.length)
	case len("Idempotency-Key"):
		return !is(name, "idempotency-key") || once(&r.IdempotencyKey, value)
	case len("Content-Encoding"):
		return !is(name, "content-encoding")
	case len("Transfer-Encoding"):
		return !is(name, "transfer-encoding")
	}
	return true
}

// once sets a field that must not be there twice, nor be empty.
func once(field *[]byte, value []byte) bool {
	if *field != nil || len(value) == 0 {
		return false
	}
	*field = value
	return true
}

// number reads a Content-Length that the buffer can hold.
func number(value []byte, n *int) bool {
	if len(value) == 0 || len(value) > 4 {
		return false
	}
	*n = 0
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
		*n = *n*10 + int(c-'0')
	}
	return true
}

// is compares with a lower-case name, whatever the case of b.
func is(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// plainPath accepts a path that means the same before and after every kind of
// cleaning and unescaping.
func plainPath(p []byte) bool {
	if len(p) == 0 || p[0] != '/' {
		return false
	}
	for i, c := range p {
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '~':
		case c == '/' || c == '.':
			if i > 0 && p[i-1] == '/' || i > 0 && p[i-1] == '.' {
				return false // "//", "/.", "..", "./": something to clean
			}
		default:
			return false
		}
	}
	return true
}

// plainHost accepts a host name or address, with a port or without.
func plainHost(h []byte) bool {
	for _, c := range h {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == ':' || c == '[' || c == ']' || c == '_') {
			return false
		}
	}
	return len(h) > 0
}
