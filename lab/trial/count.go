package trial

import "context"

// Count is what servers have carried out since they were started. Negative: they
// do not tell.
type Count struct {
	Commands   int64 // those inside scripts, too
	RoundTrips int64 // requests that somebody waited for
}

// count asks the servers of a way.
func (r *runner) count(ctx context.Context) (Count, error) {
	if r.Count == nil {
		return Count{Commands: -1, RoundTrips: -1}, nil
	}
	return r.Count(ctx, r.way)
}

// since is what one request cost; nil where nobody counts.
func (c Count) since(before Count, requests int) (commands, trips *float64) {
	each := func(after, before int64) *float64 {
		if after < 0 || before < 0 || requests == 0 {
			return nil
		}
		each := float64(after-before) / float64(requests)
		return &each
	}
	return each(c.Commands, before.Commands), each(c.RoundTrips, before.RoundTrips)
}
