package server

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"rushgate"
)

// Limits of bodies, in bytes.
const (
	// MaxBody is for everything that is not named here.
	MaxBody = 64 << 10
	// MaxSaleBody holds rushgate.MaxItems items with names and ids as long as
	// they may be.
	MaxSaleBody = 512 << 10
	// MaxBatchBody holds rushgate.MaxBatch claims with every field as long as
	// it may be and each character of the user escaped as \u00xx.
	MaxBatchBody = 2 << 20
)

// readBody reads a whole body into buf, which it may replace by a larger one.
func readBody(r *http.Request, buf []byte, limit int64) ([]byte, error) {
	if n := r.ContentLength; n >= 0 {
		if n > limit {
			return buf, errTooLarge(limit)
		}
		if int64(cap(buf)) < n {
			buf = make([]byte, n)
		}
		buf = buf[:n]
		_, err := io.ReadFull(r.Body, buf)
		return buf, truncated(err)
	}
	return readChunked(r, buf[:0], limit)
}

// readChunked reads a body that does not say how long it is.
func readChunked(r *http.Request, buf []byte, limit int64) ([]byte, error) {
	body := io.LimitReader(r.Body, limit+1)
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return buf, errTooLarge(limit)
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return buf, truncated(err)
		}
	}
}

func truncated(err error) error {
	if err == nil {
		return nil
	}
	e := &rushgate.Error{Code: rushgate.Invalid, Message: "the body could not be read", Cause: err}
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		e.Message = "the body ends early"
	}
	return e
}

// checkRequestType is checkType for a request of net/http. The express lane
// leaves bodies that say how they are coded to it.
func checkRequestType(r *http.Request) error {
	var kind string
	if h := r.Header["Content-Type"]; len(h) > 0 {
		kind = h[0]
	}
	for _, coding := range r.Header["Content-Encoding"] {
		if !strings.EqualFold(coding, "identity") {
			return errEncoded(coding)
		}
	}
	return checkType(kind, len(r.Header["Origin"]) > 0 || len(r.Header["Sec-Fetch-Site"]) > 0)
}

// checkType refuses a body that says it is something else. One that says
// nothing is taken for JSON, but not from a browser: a page could send it
// anywhere without asking first.
func checkType(contentType string, browser bool) error {
	if contentType == "application/json" || contentType == "" && !browser {
		return nil
	}
	kind, params, _ := strings.Cut(contentType, ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		return errType()
	}
	if charset, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(params)), "charset="); ok &&
		strings.Trim(charset, `"`) != "utf-8" {
		return errType()
	}
	return nil
}
