package testenv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// behind is a proxy with a listener of the test behind it.
type behind struct {
	*Proxy
	listener net.Listener
}

func behindProxy(t testing.TB) behind {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return behind{Proxy: NewProxy(t, l.Addr().String()), listener: l}
}

// connect returns the two ends of a connection through the proxy. Nothing in
// these tests may take longer than patience.
func (b behind) connect(t testing.TB) (client, server *net.TCPConn) {
	t.Helper()
	dialed, err := net.Dial("tcp", b.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialed.Close() })
	accepted, err := b.listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { accepted.Close() })
	for _, conn := range []net.Conn{dialed, accepted} {
		if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
	}
	return dialed.(*net.TCPConn), accepted.(*net.TCPConn)
}

const patience = 30 * time.Second

func say(t testing.TB, conn net.Conn, words string) {
	t.Helper()
	if _, err := io.WriteString(conn, words); err != nil {
		t.Fatal(err)
	}
}

func hear(t testing.TB, conn net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Fatalf("heard %q, %v; want %q", got, err, want)
	}
}

// hearReset reads until the connection ends, which must be by a reset.
func hearReset(t testing.TB, conns ...net.Conn) {
	t.Helper()
	for _, conn := range conns {
		if rest, err := io.ReadAll(conn); !errors.Is(err, syscall.ECONNRESET) || len(rest) > 0 {
			t.Errorf("heard %q, %v; want a reset", rest, err)
		}
	}
}

// traffic waits until a count of the proxy is reached.
func traffic(t testing.TB, p *Proxy, way Direction, want Traffic) {
	t.Helper()
	err := until(patience, nil, func() error {
		if got := p.Traffic(way); got != want {
			return fmt.Errorf("traffic %+v, want %+v", got, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAProxyChangesNothingByItself(t *testing.T) {
	b := behindProxy(t)
	client, server := b.connect(t)
	random := rand.NewChaCha8([32]byte{7})
	there, back := make([]byte, 3<<20), make([]byte, 2<<20)
	_, _ = random.Read(there) // never fails
	_, _ = random.Read(back)
	var all sync.WaitGroup
	exchange := func(conn *net.TCPConn, mine, theirs []byte) {
		all.Go(func() {
			if _, err := conn.Write(mine); err != nil {
				t.Error(err)
			}
			if err := conn.CloseWrite(); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			if got, err := io.ReadAll(conn); err != nil || !bytes.Equal(got, theirs) {
				t.Errorf("%d bytes arrived, %v; want %d, the same as were sent", len(got), err, len(theirs))
			}
		})
	}
	exchange(client, there, back)
	exchange(server, back, there)
	all.Wait()
	if err := until(patience, nil, func() error { return open(b.Proxy, 0) }); err != nil {
		t.Error(err)
	}
	traffic(t, b.Proxy, ToServer, Traffic{Passed: int64(len(there))})
	traffic(t, b.Proxy, Both, Traffic{Passed: int64(len(there) + len(back))})
}

func open(p *Proxy, want int) error {
	if got := p.Open(); got != want {
		return fmt.Errorf("%d connections are open, want %d", got, want)
	}
	return nil
}

func TestAProxyTellsAResetAsAReset(t *testing.T) {
	b := behindProxy(t)
	client, server := b.connect(t)
	cut(server)
	hearReset(t, client)
	client, server = b.connect(t)
	cut(client)
	hearReset(t, server)
}

func TestCutResetsBothSidesAndNewConnectionsAreWelcome(t *testing.T) {
	b := behindProxy(t)
	oneClient, oneServer := b.connect(t)
	twoClient, twoServer := b.connect(t)
	say(t, oneClient, "hello")
	hear(t, oneServer, "hello")
	say(t, twoServer, "hello")
	hear(t, twoClient, "hello")
	if n := b.Cut(); n != 2 {
		t.Errorf("%d connections were cut, want 2", n)
	}
	hearReset(t, oneClient, oneServer, twoClient, twoServer)
	client, server := b.connect(t)
	say(t, client, "again")
	hear(t, server, "again")
}

func TestRefuseLetsNobodyInUntilHeal(t *testing.T) {
	b := behindProxy(t)
	client, server := b.connect(t)
	say(t, client, "before")
	hear(t, server, "before")
	for range 2 {
		if err := b.Refuse(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := net.Dial("tcp", b.Addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial: %v, want that the connection is refused", err)
	}
	say(t, client, "still")
	hear(t, server, "still")
	for range 2 {
		if err := b.Heal(); err != nil {
			t.Fatal(err)
		}
	}
	newClient, newServer := b.connect(t)
	say(t, newClient, "again")
	hear(t, newServer, "again")
	say(t, client, "and still")
	hear(t, server, "and still")
}

// A server that is away is seen as such: whoever was let in by the proxy is cut
// off.
func TestAProxyWithoutAServerCutsItsClients(t *testing.T) {
	b := behindProxy(t)
	if err := b.listener.Close(); err != nil {
		t.Fatal(err)
	}
	client, err := net.Dial("tcp", b.Addr)
	if errors.Is(err, syscall.ECONNRESET) {
		return // it was cut off before it knew that it was in
	}
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	hearReset(t, client)
}

func TestDelayedBytesComeLateAndInOrder(t *testing.T) {
	const delay = 50 * time.Millisecond
	b := behindProxy(t)
	client, server := b.connect(t)
	b.Delay(ToServer, delay)
	sent := time.Now()
	say(t, client, "one ")
	say(t, client, "two ")
	say(t, server, "not delayed")
	hear(t, client, "not delayed")
	hear(t, server, "one two ")
	if took := time.Since(sent); took < delay {
		t.Errorf("they took %s, less than the delay", took)
	}
	b.Delay(Both, time.Hour)
	say(t, client, "three")
	say(t, server, "four")
	traffic(t, b.Proxy, Both, Traffic{Passed: 19, Waiting: 9})
	if err := b.Heal(); err != nil {
		t.Fatal(err)
	}
	hear(t, server, "three")
	hear(t, client, "four")
}

func TestHeldBytesArriveAfterHeal(t *testing.T) {
	b := behindProxy(t)
	client, server := b.connect(t)
	b.Hold(ToServer)
	say(t, client, "late")
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	traffic(t, b.Proxy, ToServer, Traffic{Waiting: 4})
	say(t, server, "in time")
	hear(t, client, "in time")
	if err := b.Heal(); err != nil {
		t.Fatal(err)
	}
	hear(t, server, "late")
	if n, err := server.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("heard %d bytes, %v; want the end", n, err)
	}
}

func TestSwallowedBytesNeverArriveAndNobodyIsTold(t *testing.T) {
	b := behindProxy(t)
	client, server := b.connect(t)
	whole, wholeServer := b.connect(t)
	closing, closingServer := b.connect(t)
	b.Swallow(ToServer)
	say(t, client, "lost")
	if err := closing.Close(); err != nil {
		t.Fatal(err)
	}
	traffic(t, b.Proxy, ToServer, Traffic{Lost: 4})
	say(t, server, "one way is open")
	hear(t, client, "one way is open")
	// A server may have accepted a connection before the proxy counts it.
	if err := until(patience, nil, func() error { return open(b.Proxy, 3) }); err != nil {
		t.Error(err)
	}
	if err := until(patience, nil, func() error { return b.gaps(2) }); err != nil {
		t.Fatal(err)
	}
	if err := b.Heal(); err != nil {
		t.Fatal(err)
	}
	hearReset(t, client, server, closingServer)
	say(t, whole, "nothing of this was lost")
	hear(t, wholeServer, "nothing of this was lost")
	traffic(t, b.Proxy, ToServer, Traffic{Passed: 24, Lost: 4})
}

// gaps is an error unless so many connections have lost something.
func (p *Proxy) gaps(want int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	got := 0
	for l := range p.links {
		if l.gap {
			got++
		}
	}
	if got != want {
		return fmt.Errorf("%d connections have lost something, want %d", got, want)
	}
	return nil
}

func TestACloseEndsWhatWaits(t *testing.T) {
	b := behindProxy(t)
	client, server := b.connect(t)
	b.Hold(ToServer)
	b.Swallow(ToClient)
	say(t, client, "kept")
	say(t, server, "lost")
	traffic(t, b.Proxy, Both, Traffic{Waiting: 4, Lost: 4})
	b.Close()
	b.Close()
	hearReset(t, client, server)
	if err := b.Heal(); err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", b.Addr); err == nil {
		t.Error("a closed proxy lets somebody in")
	}
}

// Whatever the weather, what arrives is the beginning of what was sent; after
// Heal it is all of it, or the connection has lost something and is reset.
func TestAProxyNeverDeliversAfterAGap(t *testing.T) {
	b := behindProxy(t)
	rapid.Check(t, func(rt *rapid.T) {
		client, server := b.connect(t)
		from, to := [2]*net.TCPConn{client, server}, [2]*net.TCPConn{server, client}
		var sent [2][]byte
		swallowed := false
		told := [2]bool{} // a reset is told once: who heard it when sending only hears the end
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			d := rapid.IntRange(0, 1).Draw(rt, "direction")
			way := Direction(1 << d)
			switch rapid.SampledFrom([]string{"send", "send", "send", "delay", "hold", "swallow", "heal"}).Draw(rt, "step") {
			case "send":
				part := rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(rt, "bytes")
				_, err := from[d].Write(part)
				if err != nil && !swallowed {
					rt.Fatal(err)
				}
				told[1-d] = told[1-d] || err != nil
				sent[d] = append(sent[d], part...)
			case "delay":
				b.Delay(way, time.Duration(rapid.IntRange(0, 2).Draw(rt, "ms"))*time.Millisecond)
			case "hold":
				b.Hold(way)
			case "swallow":
				b.Swallow(way)
				swallowed = true
			case "heal":
				if err := b.Heal(); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if err := b.Heal(); err != nil {
			rt.Fatal(err)
		}
		for d := range to {
			told[1-d] = from[d].CloseWrite() != nil || told[1-d]
			got, err := io.ReadAll(to[d])
			if !bytes.HasPrefix(sent[d], got) {
				rt.Fatalf("direction %d: %x arrived of %x", d, got, sent[d])
			}
			if err == nil && !told[d] && len(got) != len(sent[d]) {
				rt.Fatalf("direction %d: %d bytes arrived of %d, and nobody was told", d, len(got), len(sent[d]))
			}
			if err != nil && !swallowed {
				rt.Fatalf("direction %d: nothing was swallowed, and yet: %v", d, err)
			}
		}
	})
}
