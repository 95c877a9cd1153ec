package trial

import (
	"errors"
	"strings"
	"sync"
)

// said keeps the beginning of what a process says on its standard error: why it
// could not start.
type said struct {
	mu   sync.Mutex
	text strings.Builder
}

const saidBytes = 2000

// Write keeps the first bytes and forgets the rest.
func (t *said) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.Write(b[:min(len(b), max(saidBytes-t.text.Len(), 0))])
	return len(b), nil
}

func (t *said) error() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if said := strings.TrimSpace(t.text.String()); said != "" {
		return errors.New(said)
	}
	return nil
}
