package redis

import (
	"context"
	"errors"
	"testing"
)

// TestWatchThatIsGivenUp: who has no patience left before the subscription stands
// gets nothing that it could end, and leaves nothing behind.
func TestWatchThatIsGivenUp(t *testing.T) {
	s := &Store{ends: newEnds(nil, "c")}
	s.ends.close() // so that nobody listens
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Watch(ctx, "k"); !errors.Is(err, context.Canceled) || len(s.ends.waiting) > 0 {
		t.Errorf("%v, and %d keys are watched", err, len(s.ends.waiting))
	}
}
