package rushgate

import (
	"fmt"
	"math"
	"time"
)

// Bounds of a sale. They keep every sum of units within an int64 and every
// answer within a response that a browser can show.
const (
	MaxItems    = 1_000            // items in one sale
	MaxShards   = 64               // parts that a gate may divide one sale into
	MaxStock    = int64(1) << 40   // units of one item
	MaxQuantity = int64(1_000_000) // units in one claim
	MaxPerUser  = int64(10_000)    // the highest limit per person that is still a limit
	MaxHold     = 366 * 24 * time.Hour
	MaxIDBytes  = 64  // sale and item ids
	MaxName     = 200 // bytes of a sale's or an item's name
	MaxUser     = 128 // bytes of a user id
	MaxKey      = 255 // bytes of an idempotency key
)

// Sale is a time-boxed offer: window, items, limits.
type Sale struct {
	ID   string
	Name string

	// OpensAt and ClosesAt bound the window [OpensAt, ClosesAt). The zero
	// time leaves that side open.
	OpensAt  time.Time
	ClosesAt time.Time

	// PerUser is how many units one user may have at the same time; 0 means
	// that there is no limit.
	PerUser int64

	// Hold is how long a claim waits for its confirmation; 0 confirms at once.
	Hold time.Duration

	Ack   Ack
	Items []Item

	// Shards is into how many parts a gate that can be spread over servers
	// divides the stock; at least 1, fixed when the sale is made.
	Shards int

	Frozen bool // an operator stopped it for a while
	Ended  bool // an operator closed it for good

	// Epoch is the fencing token of whoever may grant for this sale. The
	// ledger refuses to record a grant that carries an older one.
	Epoch int64

	// Version numbers the states of the rules, from 1: each change has a
	// higher one than the change before it, so that nodes which change a sale
	// at the same time notice each other.
	Version int64

	CreatedAt time.Time
}

// Item is a thing with stock inside a sale. Stock is its total: free, held and
// confirmed units together.
type Item struct {
	ID    string
	Name  string
	Stock int64
}

// Ack says what must be true before a claim is acknowledged.
type Ack string

// The levels, from the strongest on. Recorded is the default.
const (
	Recorded   Ack = "recorded"   // the claim is committed in the ledger
	Replicated Ack = "replicated" // the gate has it, and so have its replicas
	Accepted   Ack = "accepted"   // the gate has it
)

// Known says that a is one of the levels above.
func (a Ack) Known() bool { return a == Recorded || a == Replicated || a == Accepted }

// SaleState is what a visitor is told about a sale.
type SaleState string

// The states of a sale, in the order in which they are looked at: a sale that
// is closed and sold out is closed.
const (
	SaleClosed    SaleState = "closed"
	SaleFrozen    SaleState = "frozen"
	SaleScheduled SaleState = "scheduled"
	SaleSoldOut   SaleState = "sold_out"
	SaleOpen      SaleState = "open"
)

// State computes the state of the sale at a moment, with so many units free.
func (s *Sale) State(now time.Time, free int64) SaleState {
	switch s.Standing(now) {
	case Closed:
		return SaleClosed
	case Frozen:
		return SaleFrozen
	case NotOpen:
		return SaleScheduled
	}
	if free <= 0 {
		return SaleSoldOut
	}
	return SaleOpen
}

// Item returns the item of that id, or nil. An empty id means the only item of
// a sale that has one.
func (s *Sale) Item(id string) *Item {
	if id == "" && len(s.Items) == 1 {
		return &s.Items[0]
	}
	for i := range s.Items {
		if s.Items[i].ID == id {
			return &s.Items[i]
		}
	}
	return nil
}

// named is Item with an error that says what is wrong.
func (s *Sale) named(id string) (*Item, error) {
	switch it := s.Item(id); {
	case it != nil:
		return it, nil
	case id == "":
		return nil, invalid("item", "must be given: the sale has %d items", len(s.Items))
	}
	return nil, invalid("item", "the sale has no item %q", clip(id))
}

// tidyWindow brings the window to what a ledger keeps: UTC, whole milliseconds.
func (s *Sale) tidyWindow() {
	for _, t := range []*time.Time{&s.OpensAt, &s.ClosesAt} {
		if !t.IsZero() {
			*t = t.UTC().Truncate(time.Millisecond)
		}
	}
}

// clone returns a copy that shares nothing with s.
func (s *Sale) clone() *Sale {
	c := *s
	c.Items = append([]Item(nil), s.Items...)
	return &c
}

// Validate says what is wrong with a sale that somebody wants to create or
// change, naming the field as the API does.
func (s *Sale) Validate() error {
	if !validID(s.ID) {
		return invalid("id", "must be 1 to %d of a-z, 0-9 and '-'", MaxIDBytes)
	}
	if err := validName("name", s.Name); err != nil {
		return err
	}
	if !s.OpensAt.IsZero() && !s.ClosesAt.IsZero() && !s.ClosesAt.After(s.OpensAt) {
		return invalid("closes_at", "must be after opens_at (%s)", s.OpensAt.UTC().Format(time.RFC3339))
	}
	if err := validTime("opens_at", s.OpensAt); err != nil {
		return err
	}
	if err := validTime("closes_at", s.ClosesAt); err != nil {
		return err
	}
	if s.PerUser < 0 || s.PerUser > MaxPerUser {
		return invalid("per_user", "must be 0 (no limit) to %d", MaxPerUser)
	}
	if s.Hold < 0 || s.Hold > MaxHold {
		return invalid("hold", "must be \"0\" (confirmed at once) to %q", MaxHold)
	}
	if s.Hold%time.Millisecond != 0 {
		return invalid("hold", "must be whole milliseconds")
	}
	if !s.Ack.Known() {
		return invalid("ack", "must be %q, %q or %q", Recorded, Replicated, Accepted)
	}
	if s.Shards < 1 || s.Shards > MaxShards {
		return invalid("shards", "must be 1 to %d", MaxShards)
	}
	return s.validateItems()
}

func (s *Sale) validateItems() error {
	if len(s.Items) == 0 || len(s.Items) > MaxItems {
		return invalid("items", "must have 1 to %d items", MaxItems)
	}
	seen := make(map[string]bool, len(s.Items))
	for i, it := range s.Items {
		field := fmt.Sprintf("items[%d]", i)
		if !validItemID(it.ID) {
			return invalid(field+".id", "must be 1 to %d of A-Z, a-z, 0-9, '-', '_' and '.'", MaxIDBytes)
		}
		if seen[it.ID] {
			return invalid(field+".id", "%q is there twice", it.ID)
		}
		seen[it.ID] = true
		if err := validName(field+".name", it.Name); err != nil {
			return err
		}
		if it.Stock < 0 || it.Stock > MaxStock {
			return invalid(field+".stock", "must be 0 to %d", MaxStock)
		}
	}
	return nil
}

// validTime keeps moments within what every ledger can hold in milliseconds
// and RFC 3339 can write in UTC, whatever zone they came in.
func validTime(field string, t time.Time) error {
	if year := t.UTC().Year(); !t.IsZero() && (year < 1970 || year > 9999) {
		return invalid(field, "must be in the years 1970 to 9999")
	}
	return nil
}

// Stock is the ledger's count of one item.
type Stock struct {
	Item      string
	Total     int64
	Taken     int64 // held and confirmed
	Confirmed int64
}

// Held returns the units that wait for confirmation.
func (s Stock) Held() int64 { return s.Taken - s.Confirmed }

// addUnits adds a restock to a total, and says so when the sum leaves the bounds.
func addUnits(total, add int64) (int64, error) {
	if add == 0 {
		return 0, invalid("add", "must not be 0")
	}
	if add > MaxStock || add < -MaxStock || add == math.MinInt64 {
		return 0, invalid("add", "must be -%d to %d", MaxStock, MaxStock)
	}
	if sum := total + add; sum >= 0 && sum <= MaxStock {
		return sum, nil
	}
	if add > 0 {
		return 0, invalid("add", "would make the stock more than %d", MaxStock)
	}
	return 0, &Error{Code: NotEnoughFree, Message: fmt.Sprintf("the item has only %d units in all", total)}
}

// newer says that s is a later state than o of the same sale.
func (s *Sale) newer(o *Sale) bool {
	return s.Epoch > o.Epoch || s.Epoch == o.Epoch && s.Version > o.Version
}

// sameRules says that a change changed nothing that a Put would write.
func (s *Sale) sameRules(o *Sale) bool {
	return s.Name == o.Name && s.OpensAt.Equal(o.OpensAt) && s.ClosesAt.Equal(o.ClosesAt) &&
		s.PerUser == o.PerUser && s.Hold == o.Hold && s.Frozen == o.Frozen && s.Ended == o.Ended
}
