package lane

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

func match(path []byte) bool {
	return bytes.HasPrefix(path, []byte("/v1/sales/")) && bytes.HasSuffix(path, []byte("/claims"))
}

// house is a lane with an http.Server behind it. Both tell who they are.
type house struct {
	lane   *Listener
	server *http.Server
	addr   string

	entered chan struct{} // receives when the lane serves a request with the body "wait"
	release chan struct{} // which is answered when this is closed
}

func open(t *testing.T, cfg Config) *house {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &house{addr: inner.Addr().String(), entered: make(chan struct{}, 16), release: make(chan struct{})}
	cfg.Match = match
	cfg.Serve = func(r *Request, reply *Reply) {
		if string(r.Body) == "wait" {
			h.entered <- struct{}{}
			<-h.release
		}
		reply.Status = 201
		reply.AddHeader("Content-Type", "text/plain")
		reply.Body = fmt.Appendf(reply.Body, "lane %s %s %s %s", r.Path, r.IdempotencyKey, r.Authorization, r.Body)
	}
	h.lane = Listen(inner, cfg)
	h.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "net/http %s %s %s", r.Method, r.URL.Path, body)
	})}
	served := make(chan error, 1)
	go func() { served <- h.server.Serve(h.lane) }()
	t.Cleanup(func() {
		if err := h.lane.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		h.server.Close()
		<-served
	})
	return h
}

func (h *house) dial(t *testing.T) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, bufio.NewReader(c)
}

func answer(t *testing.T, br *bufio.Reader) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

const plain = "POST /v1/sales/x/claims HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nIdempotency-Key: k\r\nAuthorization: Bearer t\r\n\r\nhi"

func TestTheLaneServesPlainRequestsAndNetHTTPAllOthers(t *testing.T) {
	h := open(t, Config{})
	big := strings.Repeat("x", bufferSize)
	cases := map[string]struct{ request, want string }{
		"plain":       {plain, "lane /v1/sales/x/claims k Bearer t hi"},
		"lower case":  {strings.NewReplacer("Host", "host", "Content-Length", "content-length").Replace(plain), "lane /v1/sales/x/claims k Bearer t hi"},
		"get":         {"GET /v1/sales/x HTTP/1.1\r\nHost: a\r\n\r\n", "net/http GET /v1/sales/x "},
		"other path":  {"POST /v1/sales HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi", "net/http POST /v1/sales hi"},
		"query":       {"POST /v1/sales/x/claims?a=b HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi", "net/http POST /v1/sales/x/claims hi"},
		"escaped":     {"POST /v1/sales/%78/claims HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi", "net/http POST /v1/sales/x/claims hi"},
		"chunked":     {"POST /v1/sales/x/claims HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", "net/http POST /v1/sales/x/claims hi"},
		"both":        {"POST /v1/sales/x/claims HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", "net/http POST /v1/sales/x/claims hi"},
		"old version": {"POST /v1/sales/x/claims HTTP/1.0\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi", "net/http POST /v1/sales/x/claims hi"},
		"close":       {"POST /v1/sales/x/claims HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi", "net/http POST /v1/sales/x/claims hi"},
		"cross site":  {strings.Replace(plain, "Host", "Sec-Fetch-Site: cross-site\r\nHost", 1), "net/http POST /v1/sales/x/claims hi"},
		"origin":      {strings.Replace(plain, "Host", "Origin: http://a\r\nHost", 1), "net/http POST /v1/sales/x/claims hi"},
		"own page":    {strings.Replace(plain, "Host", "Origin: http://a\r\nSec-Fetch-Site: same-origin\r\nHost", 1), "lane /v1/sales/x/claims k Bearer t hi"},
		"big body":    {fmt.Sprintf("POST /v1/sales/x/claims HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(big), big), "net/http POST /v1/sales/x/claims " + big},
		"big header":  {"POST /v1/sales/x/claims HTTP/1.1\r\nHost: a\r\nX: " + big + "\r\nContent-Length: 2\r\n\r\nhi", "net/http POST /v1/sales/x/claims hi"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			conn, br := h.dial(t)
			io.WriteString(conn, c.request)
			if _, got := answer(t, br); got != c.want {
				t.Fatalf("got %.100q, want %.100q", got, c.want)
			}
		})
	}
}

func TestMalformedRequestsGetNetHTTPsAnswer(t *testing.T) {
	h := open(t, Config{})
	for name, request := range map[string]string{
		"two lengths":     "POST /v1/sales/x/claims HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi!",
		"negative length": "POST /v1/sales/x/claims HTTP/1.1\r\nHost: a\r\nContent-Length: -2\r\n\r\n",
		"no host":         "POST /v1/sales/x/claims HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi",
		"two hosts":       "POST /v1/sales/x/claims HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: 2\r\n\r\nhi",
		"bad name":        "POST /v1/sales/x/claims HTTP/1.1\r\nHost: a\r\nBad Name: 1\r\nContent-Length: 2\r\n\r\nhi",
		"NUL in a value":  "POST /v1/sales/x/claims HTTP/1.1\r\nHost: a\r\nX: \x00\r\nContent-Length: 2\r\n\r\nhi",
	} {
		t.Run(name, func(t *testing.T) {
			conn, br := h.dial(t)
			io.WriteString(conn, request)
			if resp, body := answer(t, br); resp.StatusCode != 400 {
				t.Fatalf("%d %q, want 400", resp.StatusCode, body)
			}
		})
	}
}

func TestOneConnectionManyRequests(t *testing.T) {
	h := open(t, Config{})
	for range 3 { // pipelined, and then handed over with what is buffered
		conn, br := h.dial(t)
		io.WriteString(conn, plain+plain+"GET /elsewhere HTTP/1.1\r\nHost: a\r\n\r\n"+plain)
		for range 2 {
			if _, got := answer(t, br); !strings.HasSuffix(got, "hi") {
				t.Fatalf("got %q", got)
			}
		}
		if _, got := answer(t, br); got != "net/http GET /elsewhere " {
			t.Fatalf("got %q", got)
		}
		if _, got := answer(t, br); got != "net/http POST /v1/sales/x/claims hi" {
			t.Fatalf("got %q", got)
		}
	}
}

func TestABodyThatComesLater(t *testing.T) {
	h := open(t, Config{})
	conn, br := h.dial(t)
	head, body := plain[:len(plain)-2], plain[len(plain)-2:]
	io.WriteString(conn, plain) // the lane is certainly listening now
	answer(t, br)
	for range 50 {
		io.WriteString(conn, head)
		io.WriteString(conn, body)
		if _, got := answer(t, br); !strings.HasSuffix(got, "hi") {
			t.Fatalf("got %q", got)
		}
	}
}

func TestAnIdleConnectionIsClosed(t *testing.T) {
	h := open(t, Config{IdleTimeout: 10 * time.Millisecond})
	_, br := h.dial(t)
	if _, err := br.ReadByte(); err != io.EOF {
		t.Fatalf("%v, want the connection closed", err)
	}
}

func TestShutdownAnswersWhatWasReadAndClosesTheIdle(t *testing.T) {
	h := open(t, Config{})
	busy, busyAnswer := h.dial(t)
	io.WriteString(busy, strings.Replace(plain, "2\r\n", "4\r\n", 1)[:len(plain)-2]+"wait")
	<-h.entered
	known, idle := h.dial(t)
	io.WriteString(known, plain) // a connection that the lane has not accepted yet is reset by its system
	answer(t, idle)
	ended := make(chan error, 1)
	go func() { ended <- h.lane.Shutdown(context.Background()) }()
	if _, err := idle.ReadByte(); err != io.EOF {
		t.Fatalf("idle connection: %v, want it closed", err)
	}
	close(h.release)
	resp, body := answer(t, busyAnswer)
	if resp.StatusCode != 201 || !resp.Close || !strings.HasSuffix(body, "wait") {
		t.Fatalf("%d, close %v, %q", resp.StatusCode, resp.Close, body)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", h.addr); err == nil {
		t.Fatal("still listening")
	}
}

func TestManyConnectionsAtOnce(t *testing.T) {
	h := open(t, Config{})
	var wg sync.WaitGroup
	for i := range 50 {
		conn, br := h.dial(t)
		wg.Go(func() {
			for n := range 20 {
				body := fmt.Sprintf("%d-%d", i, n)
				fmt.Fprintf(conn, "POST /v1/sales/x/claims HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
				resp, err := http.ReadResponse(br, nil)
				if err != nil {
					t.Error(err)
					return
				}
				got, _ := io.ReadAll(resp.Body)
				if !strings.HasSuffix(string(got), " "+body) {
					t.Errorf("got %q, want %q", got, body)
				}
			}
		})
	}
	wg.Wait()
}

// FuzzParseAgreesWithNetHTTP: whatever the lane accepts, net/http reads the
// same way.
func FuzzParseAgreesWithNetHTTP(f *testing.F) {
	f.Add([]byte(plain))
	f.Add([]byte("POST /v1/sales/x/claims HTTP/1.1\r\nHost: a:80\r\nConnection: keep-alive\r\nContent-Length: 002\r\nX-Y_Z: \t1 \r\n\r\nhi"))
	f.Add([]byte("POST /v1/sales/./claims HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Request
		head, length, ok := parse(b, &r, match)
		if !ok || head+length > len(b) {
			return
		}
		want, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(b)))
		if err != nil {
			t.Fatalf("net/http refuses %q: %v", b, err)
		}
		body, err := io.ReadAll(want.Body)
		if err != nil {
			t.Fatalf("net/http cannot read the body of %q: %v", b, err)
		}
		if want.Method != "POST" || want.URL.Path != string(r.Path) || want.URL.RawQuery != "" || want.ProtoMinor != 1 || want.Close ||
			!bytes.Equal(body, b[head:head+length]) || len(want.TransferEncoding) != 0 {
			t.Fatalf("%q: the lane reads %q with %q, net/http %s %s with %q", b, r.Path, b[head:head+length], want.Method, want.URL, body)
		}
		for name, got := range map[string][]byte{"Content-Type": r.ContentType, "Authorization": r.Authorization, "Idempotency-Key": r.IdempotencyKey, "X-Request-Id": r.RequestID} {
			if want.Header.Get(name) != string(got) || len(want.Header.Values(name)) > 1 {
				t.Fatalf("%q: %s is %q for the lane, %q for net/http", b, name, got, want.Header.Values(name))
			}
		}
	})
}
