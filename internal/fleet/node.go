package fleet

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"rushgate/internal/binary"
)

// Node is one place in a fleet: a server, and after its end the next one.
type Node struct {
	Name string

	begin func() (*binary.Server, error)
	ready atomic.Bool // as the balancer found it last

	mu     sync.Mutex // guards the rest
	server *binary.Server
	lives  []*binary.Server
}

// errRuns: a node is one process at a time.
var errRuns = errors.New("the node runs already")

// Start starts the node's next server and returns when it answers, which is not
// the same as being ready to sell.
func (n *Node) Start() error {
	n.mu.Lock()
	if n.server != nil {
		n.mu.Unlock()
		return errRuns
	}
	s, err := n.begin()
	if err == nil {
		n.lives = append(n.lives, s)
	}
	n.mu.Unlock()
	if err == nil {
		err = s.Await()
	}
	if err != nil {
		return fmt.Errorf("node %s: %w", n.Name, err)
	}
	n.mu.Lock()
	n.server = s
	n.mu.Unlock()
	return nil
}

// now returns the server that runs, or nil.
func (n *Node) now() *binary.Server {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.server
}

// URL is where the node answers, or empty while it does not run.
func (n *Node) URL() string {
	if s := n.now(); s != nil {
		return s.URL
	}
	return ""
}

// Ready says whether the balancer sends anything here.
func (n *Node) Ready() bool { return n.ready.Load() }

// Kill ends the node as a power cut would, at any time of its life, and waits.
func (n *Node) Kill() {
	n.mu.Lock()
	lives := n.lives
	n.server = nil
	n.mu.Unlock()
	if len(lives) > 0 {
		lives[len(lives)-1].Kill()
	}
}

// Stop ends the node in good order and returns its exit status.
func (n *Node) Stop() (status int, err error) {
	s := n.now()
	if s == nil {
		return 0, fmt.Errorf("node %s does not run", n.Name)
	}
	if err := s.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	status = s.Wait()
	n.mu.Lock()
	n.server = nil
	n.mu.Unlock()
	return status, nil
}

// Pause makes the node stand still: its port and its connections stay open, and
// it does nothing.
func (n *Node) Pause() error { return n.signal(syscall.SIGSTOP) }

// Resume lets a paused node go on.
func (n *Node) Resume() error { return n.signal(syscall.SIGCONT) }

func (n *Node) signal(s syscall.Signal) error {
	server := n.now()
	if server == nil {
		return fmt.Errorf("node %s does not run", n.Name)
	}
	return server.Signal(s)
}

// Ended is closed when the server that runs now has ended; nil if none runs.
func (n *Node) Ended() <-chan struct{} {
	if s := n.now(); s != nil {
		return s.Ended()
	}
	return nil
}

// Log returns what the node has logged in all its lives.
func (n *Node) Log() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var b strings.Builder
	for i, s := range n.lives {
		fmt.Fprintf(&b, "--- node %s, life %d\n%s", n.Name, i+1, s.Log())
	}
	return b.String()
}
