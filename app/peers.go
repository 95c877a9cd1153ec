package app

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"rushgate"
)

// Protocol numbers what nodes of one ledger must have in common: how they use
// gate, journal and leases. Nodes that differ in it must not sell together.
const Protocol = 1

// The names of the leases.
const (
	leaseLeader = "leader" // whoever sells alone, with a gate in memory
	leaseNode   = "node/"  // and a number: one of those who sell together
	leaseChores = "chores" // whoever does for all of them what one is enough for
)

// note is what a node tells the others beside its lease.
type note struct {
	Name     string `json:"name"`
	URL      string `json:"url"`
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
	Gate     string `json:"gate"`
}

// maxNote is what fits beside a lease, in bytes.
const maxNote = 500

// String is the note as it stands in the ledger.
func (n note) String() string {
	for {
		text, err := json.Marshal(n)
		if err == nil && len(text) <= maxNote {
			return string(text)
		}
		if n.Gate == "" { // what is left is bounded
			return fmt.Sprintf(`{"protocol":%d}`, n.Protocol)
		}
		n.Gate = ""
	}
}

// readNote reads what a node tells. Whoever tells nothing that can be read
// speaks no protocol that is known here.
func readNote(text string) note {
	var n note
	if json.Unmarshal([]byte(text), &n) != nil {
		n = note{}
	}
	if n.Name == "" {
		n.Name = "another node"
	}
	return n
}

// who names a node for people.
func (n note) who() string {
	if n.URL == "" {
		return n.Name
	}
	return n.Name + " (" + n.URL + ")"
}

// version is that of this binary, as the Go toolchain wrote it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version[:min(len(info.Main.Version), 64)]
	}
	return "unknown"
}

// agree refuses to sell beside nodes that sell in another way. A node takes its
// own lease first and asks then: of two that disagree and start at the same
// time, at least one hears of the other.
func agree(ctx context.Context, leases rushgate.Leases, mine note, shared bool) error {
	held, err := leases.Held(ctx, "")
	if err != nil {
		return ofLedger(err)
	}
	return mine.agree(held, shared)
}

// agree holds a node against those that have leases.
func (mine note) agree(held []rushgate.Lease, shared bool) error {
	for _, l := range held {
		leads, joins := l.Name == leaseLeader, strings.HasPrefix(l.Name, leaseNode)
		if !leads && !joins {
			continue
		}
		n := readNote(l.Note)
		switch left := l.Left.Round(100 * time.Millisecond); {
		case n.Protocol != mine.Protocol:
			return fmt.Errorf("nodes of different versions: this one (%s) speaks protocol %d, and %s (%s), which sells from the same ledger, protocol %d: run the same version everywhere, or stop that node first",
				mine.Version, mine.Protocol, n.who(), n.Version, n.Protocol)
		case joins && !shared:
			return fmt.Errorf("--gate memory sells alone, and %s sells from the same ledger with --gate %s: use that gate here too, or stop that node (if it has just ended, try again in %s)",
				n.who(), n.Gate, left)
		case leads && shared:
			return fmt.Errorf("--gate %s sells together with others, and %s sells from the same ledger with --gate memory: use the same gate everywhere, or stop that node (if it has just ended, try again in %s)",
				mine.Gate, n.who(), left)
		}
	}
	return nil
}
