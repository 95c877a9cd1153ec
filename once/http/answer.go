package oncehttp

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// answer is what a handler has answered. Kept, it is the length of its head as four
// bytes (big-endian), the head as JSON, and the body.
type answer struct {
	Status int
	Header http.Header
	body   []byte
}

// head is the head of an answer as it is kept. The values of fields are bytes (RFC
// 9110, 5.5), and JSON has none: each byte is a character.
type head struct {
	Status int                 `json:"status"`
	Header map[string][]string `json:"header,omitempty"`
}

// each returns a header with all values changed.
func each(header map[string][]string, change func(string) string) map[string][]string {
	changed := make(map[string][]string, len(header))
	for name, values := range header {
		changed[name] = make([]string, len(values))
		for i, value := range values {
			changed[name][i] = change(value)
		}
	}
	return changed
}

func characters(value string) string {
	runes := make([]rune, len(value))
	for i := range len(value) {
		runes[i] = rune(value[i])
	}
	return string(runes)
}

func octets(value string) string {
	b := make([]byte, 0, len(value))
	for _, r := range value {
		b = append(b, byte(r))
	}
	return string(b)
}

var errMalformed = errors.New("once: a kept answer is malformed")

func (a *answer) encode() ([]byte, error) {
	h, err := json.Marshal(head{a.Status, each(a.Header, characters)})
	if err != nil {
		return nil, err
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(len(h)))
	return append(append(b, h...), a.body...), nil
}

func decode(b []byte) (*answer, error) {
	if len(b) < 4 {
		return nil, errMalformed
	}
	n := binary.BigEndian.Uint32(b)
	rest := b[4:]
	if uint64(n) > uint64(len(rest)) {
		return nil, errMalformed
	}
	var h head
	if err := json.Unmarshal(rest[:n], &h); err != nil || h.Status < 200 || h.Status > 999 {
		return nil, errMalformed
	}
	return &answer{Status: h.Status, Header: each(h.Header, octets), body: rest[n:]}, nil
}

// write sends an answer. What it says of the header goes before what is there.
func (a *answer) write(w http.ResponseWriter, replayed bool) {
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	if replayed {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.body) // whoever asked may have gone
}

// recorder takes down what a handler answers.
type recorder struct {
	header http.Header
	status int
	sent   http.Header // the header when the status was written
	body   bytes.Buffer
	limit  int  // bytes of the body that are taken down
	cut    bool // there were more
}

func newRecorder() *recorder { return &recorder{header: http.Header{}} }

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter. What informs only (1xx) is left out;
// what is no status is a panic, as it is without the middleware.
func (r *recorder) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("once: %d is not an HTTP status", status))
	}
	if r.status == 0 && status >= 200 {
		r.status, r.sent = status, r.header.Clone()
	}
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	if r.cut = r.cut || r.body.Len()+len(b) > r.limit; r.cut {
		return len(b), nil
	}
	return r.body.Write(b)
}

func (r *recorder) answer() *answer {
	r.WriteHeader(http.StatusOK)
	return &answer{Status: r.status, Header: r.sent, body: r.body.Bytes()}
}
