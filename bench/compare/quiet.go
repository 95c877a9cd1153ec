package main

import (
	"os"
	"time"
)

// stopwatch tells how much processor time a measurement cost the server, and
// how much the machine spent on something else meanwhile: a neighbour who
// compiles something makes a measurement worthless, and nobody would know.
type stopwatch struct {
	s              *server
	began          time.Time
	server         spent
	everybody, own time.Duration
}

func (s *server) stopwatch() *stopwatch {
	return &stopwatch{s: s, began: time.Now(), server: s.cpu(), everybody: busy(), own: cpu(os.Getpid())}
}

// stop returns the processor time of the server, and that of strangers as a
// share of all cores. tool is the time that an ended load generator has used.
func (w *stopwatch) stop(cores int, tool time.Duration) (server spent, strangers float64) {
	server = w.s.cpu().since(w.server)
	others := busy() - w.everybody - server.all() - (cpu(os.Getpid()) - w.own) - tool
	all := time.Since(w.began) * time.Duration(cores)
	return server, max(0, 100*float64(others)/float64(all))
}

// noisy is the share of strangers, in percent, above which a median is said to
// be disturbed. A quiet machine shows a few percent: the kernel's own work.
const noisy = 15

// disturbed returns the share of strangers, in percent: the median over the
// measurements that count.
func (b *bench) disturbed() float64 {
	var counted []Sample
	for _, s := range b.result.Samples {
		if !s.Repeated {
			counted = append(counted, s)
		}
	}
	return b.median(counted, func(s *Sample) float64 { return s.StrangersPercent })
}
