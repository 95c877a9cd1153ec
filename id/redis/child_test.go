package redis_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"rushgate/id"
	"rushgate/id/redis"
	"rushgate/internal/testenv"
)

// childAddr tells a process of this test binary that it is a node of the Redis at
// this address.
const childAddr = "RUSHGATE_ID_CHILD_REDIS"

// childTTL is short, as tests wait for its end, and long enough for a machine that
// stands still now and then.
const childTTL = 6 * time.Second

// onlyOne is a layout with one number, for which all have to compete.
func onlyOne() id.NodeConfig {
	return id.NodeConfig{Layout: id.Standard(0), TTL: childTTL, Timeout: childTTL / 3}
}

// runChild is the child: it prints ids until it is killed, and "refused" when
// there begin to be none.
func runChild() {
	addr := os.Getenv(childAddr)
	if addr == "" {
		return
	}
	fail := func(err error) {
		fmt.Println("error", err)
		panic(err)
	}
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true})
	if err != nil {
		fail(err)
	}
	store, err := redis.New(c, redis.Options{})
	if err != nil {
		fail(err)
	}
	node, err := id.Join(context.Background(), store, onlyOne())
	if err != nil {
		fail(err)
	}
	for refused := false; ; {
		next, err := node.Next()
		switch {
		case err == nil:
			refused = false
			fmt.Println(next)
		case !errors.Is(err, id.ErrNoLease):
			fail(err)
		case !refused:
			refused = true
			fmt.Println("refused")
		default:
			<-time.After(time.Millisecond)
		}
	}
}

// child is another process that makes ids.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
	ids   []id.ID
}

func startChild(t *testing.T, addr string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childAddr+"="+addr)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: cmd, lines: bufio.NewScanner(out)}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return c
}

// read reads a line, and says whether it was an id.
func (c *child) read() bool {
	c.t.Helper()
	if !c.lines.Scan() {
		c.t.Fatal("the child has ended: ", c.lines.Err())
	}
	if c.lines.Text() == "refused" {
		return false
	}
	n, err := strconv.ParseInt(c.lines.Text(), 10, 64)
	if err != nil {
		c.t.Fatal("the child says: ", c.lines.Text())
	}
	c.ids = append(c.ids, id.ID(n))
	return true
}

func (c *child) signal(s syscall.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// joinSoon joins as soon as the only number is free.
func joinSoon(t *testing.T, store id.Store) *id.Node {
	t.Helper()
	for ; ; <-time.After(5 * time.Millisecond) {
		n, err := id.Join(t.Context(), store, onlyOne())
		if err == nil {
			return n
		}
		if !errors.Is(err, id.ErrNoNumber) && !errors.Is(err, context.DeadlineExceeded) { // or Redis is busy
			t.Fatal(err)
		}
	}
}

func draw(t *testing.T, n *id.Node, times int) (ids []id.ID) {
	t.Helper()
	for range times {
		next, err := n.Next()
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, next)
	}
	return ids
}

// TestAProcessThatStandsStill (SIGSTOP) in the middle of making ids, for longer
// than its lease, while another one gets its number; then the other way round by
// SIGKILL. All ids differ.
func TestAProcessThatStandsStill(t *testing.T) {
	t.Parallel() // it waits more than it works
	private := testenv.Redis(t)
	store := open(t, client(t, private.Addr), "")
	c := startChild(t, private.Addr)
	for range 1000 {
		c.read()
	}
	c.signal(syscall.SIGSTOP)
	node := joinSoon(t, store)
	ours := draw(t, node, 20_000)
	c.signal(syscall.SIGCONT)
	for c.read() { // until it sees that its window is over
	}
	ours = append(ours, draw(t, node, 20_000)...)
	if last, from := slices.Max(c.ids), onlyOne().Layout.Least(time.UnixMilli(node.Lease().FromMs)); last >= from {
		t.Errorf("the child has made %d before it saw that its window is over; ours began with %d", last, from)
	}
	asleep := len(c.ids)
	if err := node.Close(); err != nil {
		t.Fatal(err)
	}
	for !c.read() { // until it has a new one
	}
	for range 1000 {
		c.read()
	}
	c.signal(syscall.SIGKILL)
	for c.lines.Scan() {
		if n, err := strconv.ParseInt(c.lines.Text(), 10, 64); err == nil { // the last line may be cut
			c.ids = append(c.ids, id.ID(n))
		}
	}
	if first := c.ids[asleep]; first <= slices.Max(ours) {
		t.Errorf("the child goes on with %d, ours ended with %d", first, slices.Max(ours))
	}
	heir := joinSoon(t, store)
	ours = append(ours, draw(t, heir, 20_000)...)
	if err := heir.Close(); err != nil {
		t.Fatal(err)
	}
	if !slices.IsSorted(ours) || !slices.IsSorted(c.ids[:len(c.ids)-1]) {
		t.Error("the ids of a node do not grow")
	}
	all := slices.Concat(ours, c.ids)
	slices.Sort(all)
	if n := len(slices.Compact(slices.Clone(all))); n != len(all) {
		t.Errorf("%d different ids of %d", n, len(all))
	}
}

// TestARedisThatDoesNotAnswer: ids go on until the window ends, then there are
// none, with a clear error, until the store is back.
func TestARedisThatDoesNotAnswer(t *testing.T) {
	t.Parallel() // it waits more than it works
	private := testenv.Redis(t)
	proxy := testenv.NewProxy(t, private.Addr)
	store := open(t, client(t, proxy.Addr), "")
	node := joinSoon(t, store)
	defer func() {
		if err := node.Close(); err != nil {
			t.Error(err)
		}
	}()
	ids := draw(t, node, 1000)
	proxy.Hold(testenv.Both)
	ids = append(ids, draw(t, node, 1000)...)
	var err error
	for err == nil {
		var next id.ID
		if next, err = node.Next(); err == nil {
			ids = append(ids, next)
		}
	}
	if !errors.Is(err, id.ErrNoLease) {
		t.Fatal(err)
	}
	used := node.Lease().UntilMs
	if err := proxy.Heal(); err != nil {
		t.Fatal(err)
	}
	// Renewed: a short step may still fit into the old window, where others did not.
	for end := time.Now().Add(time.Minute); (err != nil || node.Lease().UntilMs == used) && time.Now().Before(end); {
		_, err = node.Next()
	}
	if err != nil {
		t.Fatal(err)
	}
	ids = append(ids, draw(t, node, 1000)...)
	if len(slices.Compact(ids)) < len(ids) || !slices.IsSorted(ids) {
		t.Error("the ids do not grow")
	}
}
