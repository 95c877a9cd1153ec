package load

import (
	"context"
	"math/rand/v2"
	"runtime"
	"time"
)

// schedule is the open loop's clock: it says when each request is due, from
// the start of the run, and knows nothing of answers.
type schedule struct {
	gap    time.Duration // between two requests; their mean when they are random
	random *rand.Rand    // nil for even gaps
	n      int64
	at     time.Duration
}

func newSchedule(p *Plan) *schedule {
	s := &schedule{gap: time.Duration(float64(time.Second) / p.Rate)}
	if p.Poisson {
		s.random = rand.New(rand.NewPCG(p.Seed, 1))
		return s
	}
	return s
}

// next returns when the next request is due.
func (s *schedule) next() time.Duration {
	s.n++
	if s.random != nil {
		s.at += time.Duration(s.random.ExpFloat64() * float64(s.gap))
	} else {
		s.at += s.gap
	}
	return s.at
}

// pace sends the moment of each request into due when it comes, until the plan
// ends. It never waits for who receives them: when due is full, nobody will
// come to it in time, and it is counted as unsent.
//
// It sleeps in the kernel on a thread of its own. The runtime's timers are
// good to a millisecond only when the program is otherwise idle; requests
// would go out in bursts.
func (r *run) pace(ctx context.Context, due chan<- time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(due)
	s := newSchedule(&r.plan)
	next := s.next()
	for ctx.Err() == nil {
		now := time.Since(r.began)
		for ; next <= now; next = s.next() {
			if next >= r.plan.Duration || r.plan.Requests > 0 && s.n > r.plan.Requests {
				return
			}
			select {
			case due <- next:
			default:
				r.recorders[0].unsent(next, r.plan.Warmup)
			}
		}
		nap(min(max(next-now, shortestNap), longestNap))
	}
}

// A nap shorter than this costs more than it brings; one longer than that
// would make a cancelled run wait.
const (
	shortestNap = 50 * time.Microsecond
	longestNap  = 50 * time.Millisecond
)
