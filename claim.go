package rushgate

import (
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"
)

// ID is a claim's id, and the order number: 63 bits, larger for later claims,
// never used twice. In JSON and URLs it is a string of decimal digits.
type ID int64

// String writes the id as decimal digits.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// ParseID reads the decimal digits that String wrote.
func ParseID(s string) (ID, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || ID(n).String() != s {
		return 0, &Error{Code: NotFound, Message: "a claim id is a positive number of up to 19 digits"}
	}
	return ID(n), nil
}

// State is the state of a claim.
type State string

// The states of a claim. Held is the only one that is left again.
const (
	Held         State = "held"
	Confirmed    State = "confirmed"
	Released     State = "released"
	ExpiredState State = "expired"

	// Revoked is where a claim ends that was acknowledged below Recorded and
	// then lost by the gate before the ledger had it.
	Revoked State = "revoked"
)

// Active says that the claim takes units and one of its user's slots.
func (s State) Active() bool { return s == Held || s == Confirmed }

// Known says that s is one of the states above.
func (s State) Known() bool {
	return s == Held || s == Confirmed || s == Released || s == ExpiredState || s == Revoked
}

// NoSlot is the slot of a claim that takes none: its sale has no limit, or it
// has ended.
const NoSlot = int32(-1)

// Claim is one person's hold on stock. It is also the order.
type Claim struct {
	ID       ID
	Sale     string
	Item     string
	User     string
	Quantity int64

	// Slot numbers the claims that one user has at the same time, from 0. It
	// is part of a unique key of the ledger, so that two claims can never
	// stand where the limit allows one. A claim that ended gives it back.
	Slot  int32
	State State

	// Key is the idempotency key of the request that made the claim, with its
	// scope; empty if there was none.
	Key string

	CreatedAt time.Time
	ExpiresAt time.Time // zero when confirmed at once
	EndedAt   time.Time // when the state became final; zero while held
}

// Ask is one claim on its way: what a gate decides about.
type Ask struct {
	// ID is fixed before the first attempt, so that an attempt whose answer
	// got lost can be repeated and is known again.
	ID       ID
	Sale     string
	Item     string
	User     string
	Quantity int64
	Key      string // as in Claim; known per sale
}

// Matches says that a claim is what this ask asks for: the test between a
// replay and a key that was used for something else.
func (a *Ask) Matches(c *Claim) bool {
	return a.Sale == c.Sale && a.Item == c.Item && a.User == c.User && a.Quantity == c.Quantity
}

// validID accepts what a sale's id may be: short, lower-case, safe in a URL.
func validID(s string) bool {
	if len(s) == 0 || len(s) > MaxIDBytes {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-') {
			return false
		}
	}
	return true
}

// validItemID is wider than validID: shops bring their own SKUs.
func validItemID(s string) bool {
	if len(s) == 0 || len(s) > MaxIDBytes {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.') {
			return false
		}
	}
	return true
}

// validUser accepts any printable name of bounded length: users come from the
// shop, in whatever alphabet it uses. White space around a name is a mistake
// that would make two people of one.
func validUser(s string) bool {
	return len(s) > 0 && len(s) <= MaxUser && s[0] != ' ' && s[len(s)-1] != ' ' && printable(s)
}

// validKey accepts visible ASCII (RFC 9110 field values without spaces).
func validKey(s string) bool {
	if len(s) > MaxKey {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func validName(field, s string) error {
	if len(s) > MaxName || !printable(s) {
		return invalid(field, "must be at most %d bytes of printable UTF-8", MaxName)
	}
	return nil
}

// printable refuses broken UTF-8, control characters and the invisible
// characters that make two names look alike.
func printable(s string) bool {
	ascii := true
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] == 0x7f {
			return false
		}
		ascii = ascii && s[i] < utf8.RuneSelf
	}
	if ascii {
		return true
	}
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError {
			return false
		}
	}
	return true
}
