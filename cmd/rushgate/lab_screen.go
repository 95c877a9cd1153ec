package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"rushgate/lab/report"
	"rushgate/lab/trial"
)

// labScreen shows a lab while it works: the table grows by a row for each way,
// and below it moves the one that is being tried.
type labScreen struct {
	*screen
	watch *trial.Watch
	ways  int
}

func (s labScreen) begin(r *report.Report) {
	s.line("%s", s.bold(fmt.Sprintf("%s units, %s buyers, %d at a time; every tenth clicks twice", grouped(int64(r.Plan.Stock)), grouped(int64(r.Plan.Buyers)), r.Plan.Connections)))
	for _, n := range r.Notes {
		s.line("%s", n)
	}
	s.line("")
	report.WriteHead(s.w)
}

// follow tries one way, shows how it goes, and then its row.
func (s labScreen) follow(number int, try func() trial.Outcome) trial.Outcome {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	if s.moves {
		wg.Go(func() { s.move(number, stop) })
	}
	o := try()
	close(stop)
	wg.Wait()
	report.WriteRow(s.w, &o)
	return o
}

// move redraws one line until it is told to stop, and leaves nothing of it.
func (s labScreen) move(number int, stop <-chan struct{}) {
	tick := time.NewTicker(80 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			fmt.Fprint(s.w, "\r\x1b[2K")
			return
		case <-tick.C:
			n := s.watch.Look()
			fmt.Fprintf(s.w, "\r\x1b[2K%s %s", s.faint(fmt.Sprintf("%2d/%d %s, %s", number+1, s.ways, n.Way, n.Sale)),
				s.bar(n.Asked, n.Buyers*11/10))
		}
	}
}

// end says what it comes to.
func (s labScreen) end(r *report.Report) {
	s.line("")
	var names []string
	for i := range r.Ways {
		o := &r.Ways[i]
		switch {
		case o.Exact():
			names = append(names, o.Name)
		case o.Problem == "":
			s.line("  %-26s %s", o.Name, s.red(o.Verdict))
		}
	}
	s.line("")
	s.line("exact in everything that was tried: %s", s.green(strings.Join(names, ", ")))
	for i := range r.Ways {
		if o := &r.Ways[i]; o.Exact() && !o.Durable {
			s.line("  %s is in memory only: a restart of Redis forgets what was promised (not tried here)", o.Name)
		}
	}
}
