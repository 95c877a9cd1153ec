package rushgate

import "time"

// EventKind says what changed.
type EventKind string

// One kind for each state change of a claim or a sale.
const (
	ClaimHeld      EventKind = "claim.held"
	ClaimConfirmed EventKind = "claim.confirmed"
	ClaimReleased  EventKind = "claim.released"
	ClaimExpired   EventKind = "claim.expired"
	ClaimRevoked   EventKind = "claim.revoked" // arrives and ends at once: it never had units in the ledger
	SaleCreated    EventKind = "sale.created"
	SaleChanged    EventKind = "sale.changed"
	SaleWasFrozen  EventKind = "sale.frozen"
	SaleResumed    EventKind = "sale.resumed"
	SaleWasClosed  EventKind = "sale.closed"
	ItemRestocked  EventKind = "item.restocked"
)

// EventOf returns the kind of event that tells of a claim's arrival in a state.
func EventOf(s State) EventKind { return EventKind("claim." + string(s)) }

// StateOf is the inverse of EventOf: the state that a claim event tells of, or
// "" for an event of a sale.
func StateOf(k EventKind) State {
	const prefix = "claim."
	if len(k) > len(prefix) && k[:len(prefix)] == prefix {
		return State(k[len(prefix):])
	}
	return ""
}

// Event is one state change, written in the same transaction as the change.
// The events of a sale are numbered 1, 2, 3 … without gaps.
type Event struct {
	Sale string
	Seq  int64
	Kind EventKind
	At   time.Time

	Claim *Claim // claim events: the claim after the change; its slot is not told
	State *Sale  // sale.* events: the sale after the change, without its items' stock
	Item  string // item.restocked
	Add   int64  // item.restocked: units added, negative when taken back
}
