package admission

import "rushgate"

// Codes of refusals that only admission gives.
const (
	Unauthenticated rushgate.Code = "unauthenticated" // nobody, or wrong credentials
	Forbidden       rushgate.Code = "forbidden"       // somebody, who may not do this
)

// Role says what kind of caller a request comes from.
type Role uint8

// The roles.
const (
	Nobody  Role = iota // no credentials where some are needed
	Buyer               // one user, known by a token
	Anyone              // a developer's machine: whoever asks is believed
	Backend             // the shop's own server: it speaks for its users
	Admin               // an operator
)

// Caller is who sent a request.
type Caller struct {
	Role Role
	User string // Buyer only
}

// Claimant settles whose claim a request makes. named is the user that the
// request's body names, or empty. A buyer claims for nobody else, and its
// idempotency keys are its own; every other caller names the user and chooses
// the keys for all of them, in the scope "".
func (c Caller) Claimant(named string) (user, keyScope string, err error) {
	switch {
	case c.Role == Nobody:
		return "", "", Refuse("credentials are needed")
	case c.Role != Buyer:
		return named, "", nil
	case named != "" && named != c.User:
		return "", "", &rushgate.Error{Code: rushgate.Invalid, Field: "user",
			Message: "must be left out: the user is the subject of the token"}
	}
	return c.User, c.User, nil
}

// Sees says whether the caller may know of a user's claims.
func (c Caller) Sees(user string) bool {
	if c.Role == Buyer {
		return c.User == user
	}
	return c.Role != Nobody
}

// MayConfirm says whether the caller may be the one who takes the payment.
func (c Caller) MayConfirm() error {
	return c.need(c.Role >= Anyone, "only the shop's server or an operator confirms claims")
}

// MayBatch says whether the caller may claim for many users at once.
func (c Caller) MayBatch() error {
	if c.Role == Anyone {
		return Refuse("batches are for the shop's server and operators: the admin token is missing or wrong")
	}
	return c.need(c.Role >= Backend, "batches are for the shop's server and operators")
}

// MayOperate says whether the caller may use the admin API.
func (c Caller) MayOperate() error {
	if c.Role == Anyone {
		return Refuse("the admin token is missing or wrong")
	}
	return c.need(c.Role == Admin, "this is for operators: the admin token is needed")
}

func (c Caller) need(ok bool, message string) error {
	switch {
	case ok:
		return nil
	case c.Role == Nobody:
		return Refuse("credentials are needed")
	}
	return &rushgate.Error{Code: Forbidden, Message: message}
}

// Refuse returns the error that tells a caller that it is not known.
func Refuse(message string) *rushgate.Error {
	return &rushgate.Error{Code: Unauthenticated, Message: message}
}
