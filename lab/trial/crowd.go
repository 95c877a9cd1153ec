package trial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"rushgate/lab"
)

// crowd is everybody who wants one.
type crowd struct {
	plan  Plan
	again bool // who gets no answer asks again: sellers come back
	buy   func(ctx context.Context, connection int, o lab.Order) (lab.Answer, error)

	// enough says that what there is to see has happened: the sale ends a while
	// later, as all refusals are alike. It must not block. nil: the line ends it.
	enough func() bool

	mu   sync.Mutex // guards the line
	next int        // buyer
	twin bool       // whose second click comes next

	asked, granted atomic.Int64
	lastAnswer     atomic.Int64 // when a seller last answered, in nanoseconds since the start
	lastError      atomic.Pointer[error]
	start          time.Time
	enoughAt       time.Duration // guarded by mu; 0: not yet
	marks          []mark
}

// mark is a moment in the sale that somebody waits for: so many grants or so
// many who asked, whatever comes first.
type mark struct {
	granted, asked int64
	once           *sync.Once
	reached        chan struct{}
}

// twice is who clicks twice: every tenth.
const twice = 10

// silence is how long a sale goes on without a single answer before it is given
// up: the server is away.
// A seller that was killed may take longer to come back.
const (
	silence = 3 * time.Second
	absence = startWithin
)

// afterwards is how long people are still let in when enough has happened.
const afterwards = time.Second / 2

// heard is one request, as its buyer saw it. Times are since the start.
type heard struct {
	order      lab.Order
	answer     lab.Answer // 0: none came
	begin, end time.Duration
}

// grace is how long those may still wait who asked just before the time was over.
const grace = 3 * time.Second

// rush lets everybody in, until the time is over, and returns what they heard. An
// error is the reason for which the sale was given up; what was heard until then
// is returned, too.
func (c *crowd) rush(ctx context.Context) ([]heard, error) {
	longest := c.plan.Duration + grace
	if c.again {
		longest += absence
	}
	ctx, end := context.WithTimeout(ctx, longest)
	defer end()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	c.start = time.Now()
	all := make([][]heard, c.plan.Connections)
	var served sync.WaitGroup
	for i := range all {
		served.Go(func() { all[i] = c.serve(ctx, i) })
	}
	done := make(chan struct{})
	var watched sync.WaitGroup
	watched.Go(func() { c.listen(done, giveUp) })
	served.Wait()
	close(done)
	watched.Wait()
	var merged []heard
	for _, h := range all {
		merged = append(merged, h...)
	}
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return merged, err
	}
	return merged, nil
}

// soldOut says that as many heard that they have one as there were units.
func (c *crowd) soldOut() bool { return c.granted.Load() >= int64(c.plan.Stock) }

// served says whether everybody was, or all of them who make a difference.
func (c *crowd) served() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next >= c.plan.Buyers || c.enoughAt > 0
}

// listen gives up when there has been nothing but errors for too long.
func (c *crowd) listen(done <-chan struct{}, giveUp context.CancelCauseFunc) {
	patience := silence
	if c.again {
		patience = absence
	}
	tick := time.NewTicker(silence / 10)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		failure := c.lastError.Load()
		if failure != nil && time.Since(c.start)-time.Duration(c.lastAnswer.Load()) > patience {
			giveUp(fmt.Errorf("no answer for %s: %w", patience, *failure))
			return
		}
	}
}

// serve is one connection: buyer after buyer.
func (c *crowd) serve(ctx context.Context, connection int) (all []heard) {
	for {
		o, ok := c.step(ctx)
		if !ok {
			return all
		}
		h := heard{order: o, begin: time.Since(c.start)}
		h.answer = c.ask(ctx, connection, o)
		h.end = time.Since(c.start)
		all = append(all, h)
		if h.answer == lab.Granted {
			c.granted.Add(1)
		}
		c.asked.Add(1)
		c.pass()
	}
}

// step is the next in the line, when they have thought about it.
func (c *crowd) step(ctx context.Context) (lab.Order, bool) {
	if c.plan.Think > 0 {
		lab.Pause(ctx, rand.N(c.plan.Think+1))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil || c.next >= c.plan.Buyers || c.over() {
		return lab.Order{}, false
	}
	user := "u" + strconv.Itoa(c.next)
	if c.twin {
		c.twin = false
		c.next++
		return lab.Order{ID: user + "-2", User: user}, true
	}
	if c.next%twice == 0 {
		c.twin = true
	} else {
		c.next++
	}
	return lab.Order{ID: user + "-1", User: user}, true
}

// over says that nobody is let in any more. It is called with mu held.
func (c *crowd) over() bool {
	now := time.Since(c.start)
	if c.enough != nil && c.enoughAt == 0 && c.enough() {
		c.enoughAt = now
	}
	return now > c.plan.Duration || c.enoughAt > 0 && now > c.enoughAt+afterwards
}

// ask asks once, or until there is an answer.
func (c *crowd) ask(ctx context.Context, connection int, o lab.Order) lab.Answer {
	for {
		answer, err := c.buy(ctx, connection, o)
		if err == nil {
			c.lastAnswer.Store(int64(time.Since(c.start)))
			return answer
		}
		if ctx.Err() == nil {
			c.lastError.Store(&err)
		}
		if !c.again || !lab.Pause(ctx, 5*time.Millisecond) {
			return 0
		}
	}
}

// mark returns what is closed when so much of the stock is sold, or the same
// part of the buyers has asked. It is called before the rush.
func (c *crowd) mark(ofStock, ofBuyers float64) <-chan struct{} {
	m := mark{granted: int64(ofStock * float64(c.plan.Stock)), asked: int64(ofBuyers * float64(c.plan.Buyers)),
		once: &sync.Once{}, reached: make(chan struct{})}
	c.marks = append(c.marks, m)
	return m.reached
}

// pass closes the marks that are reached.
func (c *crowd) pass() {
	granted, asked := c.granted.Load(), c.asked.Load()
	for _, m := range c.marks {
		if granted >= m.granted || asked >= m.asked {
			m.once.Do(func() { close(m.reached) })
		}
	}
}
