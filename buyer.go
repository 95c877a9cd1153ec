package rushgate

import "context"

// ClaimRequest is what a buyer asks for.
type ClaimRequest struct {
	Sale     string
	Item     string // may be empty when the sale has one item
	User     string
	Quantity int64 // 0 means 1

	// Key is the idempotency key, or empty: a request with the same key gets
	// the claim that the first one made, also after a restart.
	Key string

	// KeyScope says whose key it is. Keys of different scopes never meet. It
	// is the user where users choose their keys, and empty where one trusted
	// caller chooses them for all.
	KeyScope string
}

// Receipt is a granted claim.
type Receipt struct {
	Claim    Claim
	Replayed bool // the same key again: nothing new was granted
}

// Claim is the whole story: who asks for what, what can be refused on the
// spot, and then the desk, which takes it through gate and ledger. When Claim
// returns a receipt, the claim is committed in the ledger.
func (s *Service) Claim(ctx context.Context, r ClaimRequest) (Receipt, error) {
	ask, sale, err := s.ask(ctx, &r)
	if err != nil {
		return Receipt{}, err
	}
	code := s.gate.Peek(s.now(), &ask)
	if code == Frozen && !sale.Frozen {
		code = Granted // a gate that stands still has been frozen by nobody, perhaps: the desk finds out
	}
	if code != Granted {
		s.observe.Decided(code, 1)
		return Receipt{}, refusal(code, sale)
	}
	return s.desk.claim(ctx, ask)
}

// ask finds the sale and checks the request against it.
func (s *Service) ask(ctx context.Context, r *ClaimRequest) (Ask, *Sale, error) {
	sale := s.sale(ctx, r.Sale)
	if sale == nil {
		return Ask{}, nil, unknownSale(r.Sale)
	}
	item, err := sale.named(r.Item)
	switch {
	case err != nil:
		return Ask{}, nil, err
	case !validUser(r.User):
		return Ask{}, nil, invalid("user", "must be 1 to %d bytes of printable UTF-8, without space around it", MaxUser)
	case r.Quantity < 0 || r.Quantity > MaxQuantity:
		return Ask{}, nil, invalid("quantity", "must be 1 to %d", MaxQuantity)
	case !validKey(r.Key):
		return Ask{}, nil, invalid("idempotency_key", "must be at most %d visible ASCII characters", MaxKey)
	}
	ask := Ask{Sale: sale.ID, Item: item.ID, User: r.User, Quantity: max(r.Quantity, 1), Key: r.Key}
	if r.Key != "" && r.KeyScope != "" {
		ask.Key = r.KeyScope + " " + r.Key // a key has no space: the last one is the seam
	}
	return ask, sale, nil
}

// Result is the answer to one request of a batch.
type Result struct {
	Receipt
	Err error
}

// ClaimBatch is Claim for up to MaxBatch requests of one trusted caller. They
// are decided in their order, and each has its own result.
func (s *Service) ClaimBatch(ctx context.Context, rs []ClaimRequest) ([]Result, error) {
	if len(rs) == 0 || len(rs) > MaxBatch {
		return nil, invalid("claims", "must have 1 to %d claims", MaxBatch)
	}
	results := make([]Result, len(rs))
	asks := make([]Ask, 0, len(rs))
	at := make([]int, 0, len(rs)) // asks[i] answers rs[at[i]]
	for i := range rs {
		ask, _, err := s.ask(ctx, &rs[i])
		if err != nil {
			results[i].Err = err
			continue
		}
		asks = append(asks, ask)
		at = append(at, i)
	}
	if len(asks) == 0 {
		return results, nil
	}
	answers, err := s.desk.claimAll(ctx, asks)
	if err != nil {
		return nil, err
	}
	for i, a := range answers {
		results[at[i]] = a
	}
	return results, nil
}

// Get returns a claim. One whose time is over has expired, whether the sweeper
// has come by or not.
func (s *Service) Get(ctx context.Context, id ID) (Claim, error) {
	c, err := s.claimOf(ctx, id)
	if err == nil && c.State == Held && !c.ExpiresAt.After(s.now()) {
		return s.unmoved(ctx, c)
	}
	return c, s.asError(err)
}

// Confirm takes a held claim to confirmed. Doing it again changes nothing. A
// claim that has ended, or whose time is over, answers WrongState.
func (s *Service) Confirm(ctx context.Context, id ID) (Claim, error) {
	return s.move(ctx, id, Confirmed)
}

// Release gives a held claim back: its unit and its user's slot are free
// before Release returns. Doing it again changes nothing.
func (s *Service) Release(ctx context.Context, id ID) (Claim, error) {
	return s.move(ctx, id, Released)
}

// move brings a claim to a final state, and tells the truth when it was in
// another one already.
func (s *Service) move(ctx context.Context, id ID, to State) (Claim, error) {
	c, err := s.claimOf(ctx, id)
	if err != nil {
		return Claim{}, s.asError(err)
	}
	if c.State == Held {
		moved, err := s.desk.move(ctx, c.Sale, to, id)
		if err != nil {
			return Claim{}, err
		}
		if len(moved) > 0 {
			return *moved[0], nil
		}
		if c, err = s.unmoved(ctx, c); err != nil {
			return Claim{}, err
		}
	}
	if c.State == Held { // the clock went back between the two
		return Claim{}, unavailable(nil, "the claim could not be moved now; try again")
	}
	if c.State != to {
		return Claim{}, &Error{Code: WrongState, Message: "the claim is " + string(c.State), Claim: &c}
	}
	return c, nil
}

// unmoved looks why a claim did not move. If it is still held, its time is
// over and the sweeper has not come by yet: then it ends here.
func (s *Service) unmoved(ctx context.Context, c Claim) (Claim, error) {
	if _, err := s.desk.move(ctx, c.Sale, ExpiredState, c.ID); err != nil {
		return Claim{}, err
	}
	c, err := s.ledger.Claim(ctx, c.ID)
	return c, s.asError(err)
}
