package fleet

import (
	"sync"

	"rushgate/internal/binary"
)

// Fleet is several nodes behind a balancer.
type Fleet struct {
	Nodes    []*Node
	Balancer *Balancer
}

// Begin starts a node's next server. It does not wait until it serves.
type Begin func() (*binary.Server, error)

// New makes a fleet of nodes that do not run yet, and a balancer that looks for
// them. The caller ends it with Close.
func New(names []string, begin func(name string) Begin) *Fleet {
	f := &Fleet{}
	for _, name := range names {
		f.Nodes = append(f.Nodes, &Node{Name: name, begin: begin(name)})
	}
	f.Balancer = newBalancer(f.Nodes)
	return f
}

// Start starts all nodes side by side.
func (f *Fleet) Start() error {
	var wg sync.WaitGroup
	errs := make([]error, len(f.Nodes))
	for i, n := range f.Nodes {
		wg.Go(func() { errs[i] = n.Start() })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Close kills all nodes and ends the balancer.
func (f *Fleet) Close() {
	f.Balancer.close()
	for _, n := range f.Nodes {
		n.Kill()
	}
}

// Log returns what all nodes have logged.
func (f *Fleet) Log() (text string) {
	for _, n := range f.Nodes {
		text += n.Log()
	}
	return text
}
