package rushgate

import "sync"

// watch wakes those who wait for the events of a sale. It carries no events:
// who wakes up reads them from the ledger, so nothing is lost between the two.
type watch struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
	times   map[string]uint64 // how often a sale has changed since the start
}

func newWatch() *watch {
	return &watch{waiting: map[string]chan struct{}{}, times: map[string]uint64{}}
}

// changes returns how often a sale has changed since the start.
func (w *watch) changes(sale string) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.times[sale]
}

// changed returns a channel that is closed at the next change of a sale.
func (w *watch) changed(sale string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	ch, ok := w.waiting[sale]
	if !ok {
		ch = make(chan struct{})
		w.waiting[sale] = ch
	}
	return ch
}

// tell wakes everybody who waits for a sale.
func (w *watch) tell(sale string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.times[sale]++
	if ch, ok := w.waiting[sale]; ok {
		close(ch)
		delete(w.waiting, sale)
	}
}
