package oncehttp

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/http"
)

// answer is what a handler has answered. Kept, it is the length of its head as four
// bytes (big-endian), the head as JSON, and the body.
type answer struct {
	Status int         `json:"status"`
	Header http.Header `json:"header,omitempty"`
	body   []byte
}

var errMalformed = errors.New("once: a kept answer is malformed")

func (a *answer) encode() ([]byte, error) {
	head, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(len(head)))
	return append(append(b, head...), a.body...), nil
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
	a := &answer{body: rest[n:]}
	if err := json.Unmarshal(rest[:n], a); err != nil || a.Status < 200 || a.Status > 999 {
		return nil, errMalformed
	}
	return a, nil
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

// WriteHeader implements http.ResponseWriter. What informs only (1xx) is left out.
func (r *recorder) WriteHeader(status int) {
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
	if r.sent.Get("Content-Type") == "" && r.body.Len() > 0 {
		r.sent.Set("Content-Type", http.DetectContentType(r.body.Bytes()))
	}
	return &answer{Status: r.status, Header: r.sent, body: r.body.Bytes()}
}
