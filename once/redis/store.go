package redis

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"rushgate/once"
)

// Kind says in which of Redis' structures marks are kept.
type Kind int

// The kinds of marks; the package documentation tells what each takes.
const (
	Set    Kind = iota // any names; no tags
	Hash               // any names, each with the tag of who marked it
	Bitmap             // numbers in decimal from 0 to Options.MaxID, dense ones; no tags
)

// Options tune a store. The zero value is right for most.
type Options struct {
	// Prefix begins the name of every key and of the channel. Default "once:";
	// letters, digits and . : _ - only, at most 64 of them.
	Prefix string

	// Marks is the structure of marks. Default Set.
	Marks Kind

	// KeepMarks is for how long a set of marks is kept after its latest call of First,
	// at least; of a bitmap, each segment. Default: for ever; at least 1 ms.
	KeepMarks time.Duration

	// MaxID is the greatest number in a Bitmap. Default 2^27-1, about 134
	// million; at most 2^32-1. A segment of 65,536 numbers takes up to 8 KiB once one
	// of them is marked, so MaxID bounds what a set may take: 16 MiB by default.
	MaxID uint64
}

const segmentBits = 16 // 65,536 numbers, 8 KiB

var goodPrefix = regexp.MustCompile(`^[A-Za-z0-9.:_-]{1,64}$`)

func (o *Options) complete() {
	if o.Prefix == "" {
		o.Prefix = "once:"
	}
	if o.KeepMarks == 0 {
		o.KeepMarks = once.Forever
	}
	if o.MaxID == 0 {
		o.MaxID = 1<<27 - 1
	}
}

func (o *Options) check() error {
	switch {
	case !goodPrefix.MatchString(o.Prefix):
		return fmt.Errorf("once: Options.Prefix %q: must be 1 to 64 letters, digits and . : _ -", o.Prefix)
	case o.Marks < Set || o.Marks > Bitmap:
		return fmt.Errorf("once: Options.Marks %d: must be Set, Hash or Bitmap", o.Marks)
	case o.KeepMarks < time.Millisecond:
		return fmt.Errorf("once: Options.KeepMarks %v: must be at least %v", o.KeepMarks, time.Millisecond)
	case o.MaxID > 1<<32-1:
		return fmt.Errorf("once: Options.MaxID %d: must be at most %d", o.MaxID, uint64(1<<32-1))
	}
	return nil
}

// Store keeps records, marks and toggles in Redis. It implements once.Store,
// once.MarkStore and once.ToggleStore, and is safe for use by many goroutines.
type Store struct {
	client  rueidis.Client
	opts    Options
	scripts scripts
	ends    *ends
}

// New returns a store on a client, which stays the caller's. Close the store
// before the client.
func New(client rueidis.Client, o Options) (*Store, error) {
	o.complete()
	if client == nil {
		return nil, errors.New("once: the client is missing")
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &Store{client: client, opts: o, scripts: newScripts()}
	s.ends = newEnds(client, s.channel())
	return s, nil
}

// Close ends the subscription, if there is one, and waits for that. Whoever
// waits goes on by asking.
func (s *Store) Close() { s.ends.close() }

// All keys of one set share its name as a hash tag, so that a cluster keeps them on
// one server
// (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags).
func (s *Store) record(key string) string  { return s.opts.Prefix + "do:" + key }
func (s *Store) channel() string           { return s.opts.Prefix + "ends" }
func (s *Store) marks(set string) string   { return s.opts.Prefix + "marks:{" + set + "}" }
func (s *Store) toggles(set string) string { return s.opts.Prefix + "toggles:{" + set + "}" }
func (s *Store) segment(set string, n int) string {
	return s.opts.Prefix + "marks:{" + set + "}:" + strconv.Itoa(n)
}
func (s *Store) togglesOn(set string) string { return s.toggles(set) + ":on" }
