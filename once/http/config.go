package oncehttp

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"rushgate/once"
)

// Everybody is the Scope where all who ask are one: a key is the same key, whoever
// sends it.
func Everybody(*http.Request) string { return "" }

// Config says what the middleware does. The zero value of each field but Once
// and Scope stands for its default; a value out of bounds is an error.
type Config struct {
	// Once runs the requests. Its MaxResult bounds an answer that is kept, with
	// its header; its Keep is for how long an answer can be had again, which the
	// API's documentation should tell.
	Once *once.Once

	// Scope says whose key it is: the user, the tenant. Two people may choose the
	// same key, and nobody may get somebody else's answer. It has no default: where
	// all who ask are one, it is Everybody. It is hashed with the key, so that a
	// token may be returned as it is.
	Scope func(*http.Request) string

	// Required refuses requests without a key, with 400. Default: they are
	// served as if the middleware were not there.
	Required bool

	// Methods are those to which it applies. Default POST and PATCH, the methods
	// that are not idempotent by themselves.
	Methods []string

	// NoWait answers 409 at once while the first request is being processed.
	// Default: wait for its answer, for as long as Once has patience, and then 409.
	NoWait bool

	// MaxBody bounds the body of a request, in bytes. Default 1 MiB; at most 64 MiB.
	MaxBody int64

	// Keep says whether an answer is kept, by its status. Default: all below
	// 500. An answer that is not kept goes to its caller alone, and whoever asks
	// next is served anew.
	Keep func(status int) bool
}

func (c *Config) complete() {
	if c.Methods == nil {
		c.Methods = []string{http.MethodPost, http.MethodPatch}
	}
	c.Methods = slices.Clone(c.Methods)
	if c.MaxBody == 0 {
		c.MaxBody = 1 << 20
	}
	if c.Keep == nil {
		c.Keep = func(status int) bool { return status < 500 }
	}
}

func (c *Config) check() error {
	if c.Once == nil {
		return errors.New("once: Config.Once is missing")
	}
	if c.Scope == nil {
		return errors.New("once: Config.Scope is missing: say whose a key is, or that it is Everybody's")
	}
	if c.MaxBody < 1 || c.MaxBody > 64<<20 {
		return fmt.Errorf("once: Config.MaxBody %d: must be 1 to %d bytes", c.MaxBody, 64<<20)
	}
	return nil
}
