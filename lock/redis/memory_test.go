package redis_test

import (
	"testing"
	"time"

	"rushgate/lock"
)

// A key that is never free is remembered from the latest sign of life, not from when
// the second one came.
func TestAKeyThatIsNeverFree(t *testing.T) {
	opts, addr := fresh(), server.Server(t).Addr
	b, raw := backend(t, addr, opts), client(t, addr)
	claims := []lock.Claim{
		{Key: "k", Owner: "a", Token: "node.1", Need: 1, Limit: lock.MaxPermits, Lease: lock.MaxLease},
		{Key: "k", Owner: "b", Token: "node.2", Need: 1, Limit: lock.MaxPermits, Lease: lock.MaxLease},
		{Key: "k", Owner: "c", Token: "node.3", Need: lock.MaxPermits, Limit: lock.MaxPermits, Lease: lock.MaxLease, Line: 5},
	}
	for _, c := range claims {
		if a := b.Acquire(t.Context(), c); a.Err != nil || a.State > lock.Waiting {
			t.Fatal(a)
		}
	}
	keys := []string{opts.Prefix + "{k}", opts.Prefix + "{k}:claims", opts.Prefix + "{k}:line"}
	for _, key := range keys { // nearly a day has passed
		if err := raw.Do(t.Context(), raw.B().Pexpire().Key(key).Milliseconds(time.Hour.Milliseconds()).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	if a := b.Renew(t.Context(), claims[:1])[0]; a.State != lock.Granted {
		t.Fatal(a)
	}
	for _, key := range keys {
		left, err := raw.Do(t.Context(), raw.B().Pttl().Key(key).Build()).AsInt64()
		if err != nil || time.Duration(left)*time.Millisecond <= lock.MaxLease {
			t.Errorf("%s lasts for another %d ms, %v", key, left, err)
		}
	}
}
