package main

import (
	"fmt"
	"time"

	"path/filepath"

	"rushgate/app"
	"rushgate/client"
)

// What the demo says.

func (d *demoCmd) greet(s *screen, p *app.Program, dir string) {
	s.line("")
	s.line("  %s  %s phones, %s people, one each", s.bold("Rushgate demo"), grouped(d.Stock), grouped(int64(d.People)))
	s.line("")
	s.line("  server   %s", p.URL())
	s.line("  ledger   %s  %s", filepath.Join(dir, "data", "rushgate.db"), s.faint("SQLite; nobody is told yes before it is on the disk"))
	s.line("")
}

// tell shows what the crowd met.
func (d *demoCmd) tell(s *screen, o *outcome) {
	count := func(code client.Code) int64 { return int64(o.answers[string(code)]) }
	granted := count("granted")
	s.line("")
	s.line("  %s", s.bold("What happened"))
	s.line("  %10s  granted, and recorded: committed in SQL with fsync before the answer", s.green(pad(granted)))
	s.line("  %10s  of them paid and confirmed; the others have 15 minutes", pad(int64(o.confirmed)))
	s.line("  %10s  told at once that it is sold out, the impatient ones twice", pad(count(client.SoldOut)))
	s.line("  %10s  second clicks of people who have one: told so, with the id of theirs", pad(count(client.LimitReached)))
	s.line("")
	answers := int64(len(o.latencies))
	s.line("  %s answers in %s: %s a second, over %d connections, crowd and server on this machine", grouped(answers),
		o.took.Round(time.Millisecond), grouped(perSecond(answers, o.took)), d.Connections)
	s.line("  the %s grants took %s: %s recorded a second", grouped(granted), o.soldIn.Round(100*time.Microsecond), grouped(perSecond(granted, o.soldIn)))
	s.line("  latency  p50 %s   p90 %s   p99 %s   worst %s", short(o.quantile(50)), short(o.quantile(90)), short(o.quantile(99)), short(o.quantile(100)))
	s.line("")
}

// prove shows the audit, and says whether it is what it must be.
func (d *demoCmd) prove(s *screen, r *client.Report) error {
	s.line("  %s", s.bold("Audit"))
	for _, c := range r.Checks {
		mark := s.green("ok    ")
		if !c.OK {
			mark = s.red("FAILED")
		}
		s.line("  %s  %-24s %s", mark, c.Name, s.faint(c.Detail))
	}
	s.line("")
	if !r.OK {
		return fmt.Errorf("the audit failed: please report this")
	}
	return nil
}

// invite prints lines that work when they are pasted into a shell.
func invite(s *screen, url, dir string) {
	token := `-H "Authorization: Bearer $(cat ` + filepath.Join(dir, "data", app.TokenFile) + `)"`
	body := `-H 'Content-Type: application/json' -d `
	sale := url + "/v1/sales/" + demoSale
	s.line("  %s  %s", s.bold("Try it"), s.faint("the server keeps running; Ctrl-C ends it and removes its folder"))
	for _, try := range []struct{ why, line string }{
		{"the sale, as everybody sees it", "curl -s " + sale},
		{"come late", "curl -s " + sale + "/claims " + body + `'{"user": "you"}'`},
		{"five more arrive", "curl -s " + sale + "/restock " + token + " " + body + `'{"item": "black-128", "add": 5}'`},
		{"buy one; again with the same key is the same claim", "curl -s " + sale + "/claims -H 'Idempotency-Key: mine' " + body + `'{"user": "you"}'`},
		{"the stock, to the unit", "curl -s " + sale + "/stock " + token},
		{"the proof", "curl -s " + sale + "/audit " + token},
		{"everything that happened, and what happens next", "curl -sN '" + sale + "/events?after=0' " + token},
	} {
		s.line("")
		s.line("  %s", s.faint("# "+try.why))
		s.line("  %s", try.line)
	}
	s.line("")
	s.line("  %s", s.faint("the whole API: "+url+"/docs"))
	s.line("")
}

// pad right-aligns a count.
func pad(n int64) string { return fmt.Sprintf("%10s", grouped(n)) }

// short writes a latency with three digits or so.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}

func perSecond(n int64, d time.Duration) int64 {
	if d <= 0 {
		return n
	}
	return int64(float64(n) / d.Seconds())
}
