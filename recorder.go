package rushgate

// recorder records what was acknowledged early, behind the desk's back: while
// the ledger is busy, the desk has the next claims decided. What is recorded
// before anybody hears of it stays with the desk: there, a batch that forms while
// the last one commits is larger, and larger is faster.
//
// All batches are recorded in the order in which they were decided.
type recorder struct {
	desk   *desk
	behind chan *batch   // decided, not recorded
	spare  chan *batch   // to be used again
	done   chan struct{} // it has ended
}

// ahead is how many batches may be decided and acknowledged, and wait for the
// ledger; what the gate's journal may hold bounds them too.
const ahead = 16

func newRecorder(d *desk) *recorder {
	r := &recorder{desk: d, behind: make(chan *batch, ahead), spare: make(chan *batch, ahead), done: make(chan struct{})}
	for range ahead {
		r.spare <- &batch{desk: d}
	}
	go r.run()
	return r
}

func (r *recorder) run() {
	defer close(r.done)
	for b := range r.behind {
		r.desk.finish(b)
		r.spare <- b
	}
}

// serve takes a batch along the path, or the first half of it. It returns a
// batch for the next trip.
func (r *recorder) serve(b *batch) *batch {
	if r.desk.ended(b) {
		return b
	}
	b.decide()
	b.tellEarly()
	if len(b.early) > 0 {
		r.behind <- b
		return <-r.spare
	}
	r.catchUp()
	r.desk.finish(b)
	return b
}

// catchUp waits until nothing is behind.
func (r *recorder) catchUp() {
	if len(r.spare) == ahead {
		return
	}
	all := make([]*batch, 0, ahead)
	for range ahead {
		all = append(all, <-r.spare)
	}
	for _, b := range all {
		r.spare <- b
	}
}

// close waits until everything that was decided is recorded.
func (r *recorder) close() {
	close(r.behind)
	<-r.done
}
