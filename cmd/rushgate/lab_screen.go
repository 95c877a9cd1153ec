package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"rushgate/lab/report"
	"rushgate/lab/trial"
)

// watched is a context that ends when nobody watches any more: the terminal was
// closed (SIGHUP), or the program that read the output ended, as in `rushgate lab
// | head`. To die of it would leave servers' folders behind.
func watched(ctx context.Context, s *screen) (context.Context, *screen, func()) {
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		var stop func()
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP)
		context.AfterFunc(ctx, stop)
	}
	ctx, leave := context.WithCancel(ctx)
	broken := make(chan os.Signal, 1) // read by nobody: what matters is that a write fails instead
	signal.Notify(broken, syscall.SIGPIPE)
	open := *s
	open.w = audience{s.w, leave}
	return ctx, &open, func() { signal.Stop(broken); leave() }
}

// audience is a writer that tells when it cannot be written to.
type audience struct {
	io.Writer
	left func()
}

// Write writes, or tells.
func (a audience) Write(b []byte) (int, error) {
	n, err := a.Writer.Write(b)
	if err != nil {
		a.left()
	}
	return n, err
}

// labScreen shows a lab while it works: the table grows by a row for each way,
// and below it moves the one that is being tried.
type labScreen struct {
	*screen
	watch *trial.Watch
	ways  int
	table report.Table
}

func (s labScreen) begin(r *report.Report) {
	s.line("%s", s.bold(fmt.Sprintf("%s units, %s buyers, %d at a time; every tenth clicks twice", grouped(int64(r.Plan.Stock)), grouped(int64(r.Plan.Buyers)), r.Plan.Connections)))
	for _, n := range r.Notes {
		s.line("%s", n)
	}
	if s.table.Hidden > 0 {
		s.line("%s", s.faint(fmt.Sprintf("%d columns need a wider terminal; --out has them all", s.table.Hidden)))
	}
	s.line("")
	s.table.WriteHead(s.w)
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
	s.table.WriteRow(s.w, &o)
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
			text, bar := fmt.Sprintf("%2d/%d %s, %s", number+1, s.ways, n.Way, n.Sale), s.bar(n.Asked, n.Buyers*11/10)
			if s.width > 0 { // a line that wraps cannot be taken back
				text = text[:min(len(text), s.width-1)]
				bar = string([]rune(bar)[:min(barWidth, max(s.width-len(text)-2, 0))])
			}
			fmt.Fprintf(s.w, "\r\x1b[2K%s %s", s.faint(text), bar)
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
	if len(names) == 0 {
		names = []string{"none"}
	}
	s.line("exact in everything that was tried: %s", s.green(strings.Join(names, ", ")))
	for i := range r.Ways {
		if o := &r.Ways[i]; o.Exact() && !o.Durable {
			s.line("  %s is in memory only: a restart of Redis forgets what was promised (not tried here)", o.Name)
		}
	}
}
