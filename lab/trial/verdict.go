package trial

import (
	"fmt"
	"strings"
)

// verdict says in a few words what was seen, the worst first.
func (o *Outcome) verdict() string {
	var seen []string
	say := func(n int, format string) {
		if n > 0 {
			seen = append(seen, fmt.Sprintf(format, n))
		}
	}
	say(o.Oversold, "oversold %d")
	if o.Oversold == 0 {
		say(o.Phantom, "about to oversell %d")
	}
	say(o.Duplicates, "%d users with two")
	if o.Pause != nil {
		say(o.Pause.Excess(), "oversold %d when a seller stood still")
	}
	if o.Crash != nil {
		say(o.Crash.Excess(), "oversold %d when a seller crashed")
		say(o.Crash.Lost(), "lost %d in a crash")
	}
	if o.Failover != nil {
		say(o.Failover.Excess(), "oversold %d when Redis failed over")
		say(o.Failover.Lost(), "lost %d in a failover")
	}
	if o.Admin != nil && !o.Admin.Obeyed {
		seen = append(seen, "did not obey the operator")
	}
	say(o.Stranded, "stranded %d")
	if o.Finished {
		say(o.Undersold-o.Stranded, "%d left unsold")
	}
	say(o.Contended, "turned %d away with stock left")
	switch {
	case o.Problem != "" && len(seen) == 0:
		return "not tried"
	case len(seen) == 0:
		return exact
	}
	return strings.Join(seen, ", ")
}

// Exact says that everything that was tried went as it should: exactly what there
// was, once per person, to everybody who asked while there was some.
func (o *Outcome) Exact() bool { return o.Verdict == exact }

const exact = "exact"
