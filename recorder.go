package rushgate

// recorder is the second half of every trip where the gate is shared and may be
// far away: while it records one batch, the desk has the next one decided. The
// batches are recorded in the order in which they were decided.
//
// A gate of the desk's own needs no such thing, and must not have it: there,
// that nothing changes between gate and ledger is what makes an audit exact.
type recorder struct {
	desk    *desk
	decided chan *batch
	spare   chan *batch
	done    chan struct{}
}

// ahead is how many batches may be decided and wait for the ledger.
const ahead = 2

func newRecorder(d *desk) *recorder {
	r := &recorder{desk: d, decided: make(chan *batch, ahead), spare: make(chan *batch, ahead+2), done: make(chan struct{})}
	for range cap(r.spare) {
		r.spare <- &batch{desk: d}
	}
	go r.run()
	return r
}

func (r *recorder) run() {
	defer close(r.done)
	for b := range r.decided {
		r.desk.finish(b)
		r.spare <- b
	}
}

// serve decides a batch and leaves the rest to the recorder. It returns a batch
// for the next trip.
func (r *recorder) serve(b *batch) *batch {
	b.decide()
	b.tellEarly()
	r.decided <- b
	return <-r.spare
}

// close waits until everything that was decided is recorded.
func (r *recorder) close() {
	close(r.decided)
	<-r.done
}
