package client

import (
	"bytes"
	"testing"
)

// FuzzEventStream: whatever a stream holds, what comes out of it is numbered
// without gaps, and what is not an event is an error.
func FuzzEventStream(f *testing.F) {
	f.Add([]byte("id: 1\nevent: claim.held\ndata: {\"seq\":1,\"kind\":\"claim.held\"}\n\n: heartbeat\n\ndata: {\"seq\":2}\n\n"))
	f.Add([]byte("data: {\"seq\":1}\ndata: \n\n"))
	f.Add([]byte("data:{\"seq\":3}\n\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		last := int64(0)
		s := &stream{yield: func(e Event, err error) bool {
			if err != nil || e.Seq != last+1 {
				t.Fatalf("event %d after %d, %v", e.Seq, last, err)
			}
			last = e.Seq
			return true
		}}
		if err := s.read(bytes.NewReader(body)); err == nil {
			t.Fatal("a stream that ends must say so")
		}
		if s.last != last {
			t.Fatalf("resumes after %d, the caller has %d", s.last, last)
		}
	})
}
