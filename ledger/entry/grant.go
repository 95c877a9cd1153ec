package entry

import (
	"fmt"

	"rushgate"
)

// CheckGrant refuses what no gate may ask for, before the database sees it.
func CheckGrant(g *rushgate.Grant) error {
	for i := range g.Claims {
		c := &g.Claims[i]
		switch {
		case c.Sale != g.Sale:
			return fmt.Errorf("claim %d is of sale %q, its grant of %q", c.ID, c.Sale, g.Sale)
		case !c.State.Active():
			return fmt.Errorf("claim %d arrives as %q: only held and confirmed claims can be granted", c.ID, c.State)
		case c.State == rushgate.Held && c.ExpiresAt.IsZero():
			return fmt.Errorf("claim %d is held without an end", c.ID)
		case c.ID <= 0 || c.Quantity <= 0:
			return fmt.Errorf("claim %d of %d units: both must be positive", c.ID, c.Quantity)
		case g.PerUser == 0 && c.Slot != rushgate.NoSlot:
			return fmt.Errorf("claim %d has slot %d in a sale without a limit", c.ID, c.Slot)
		case g.PerUser > 0 && (c.Slot < 0 || int64(c.Slot) >= g.PerUser || c.Quantity > g.PerUser):
			return &rushgate.BarrierError{Barrier: rushgate.BarrierLimit, Sale: g.Sale,
				Detail: fmt.Sprintf("claim %d of %d units in slot %d, the limit is %d", c.ID, c.Quantity, c.Slot, g.PerUser)}
		}
	}
	return nil
}

// Alike returns the longest run at the start of claims that differ in nothing but
// id, user, slot and key: all that most batches hold. One event row tells of it.
func Alike(claims []rushgate.Claim) []rushgate.Claim {
	a := &claims[0]
	for i := 1; i < len(claims); i++ {
		c := &claims[i]
		if c.Item != a.Item || c.Quantity != a.Quantity || c.State != a.State ||
			!c.CreatedAt.Equal(a.CreatedAt) || !c.ExpiresAt.Equal(a.ExpiresAt) || !c.EndedAt.Equal(a.EndedAt) {
			return claims[:i]
		}
	}
	return claims
}

// SameState returns the longest run at the start of claims that arrive in the same
// state: one row can tell all their events.
func SameState(claims []rushgate.Claim) []rushgate.Claim {
	for i := range claims {
		if claims[i].State != claims[0].State {
			return claims[:i]
		}
	}
	return claims
}
