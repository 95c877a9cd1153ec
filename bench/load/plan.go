package load

import (
	"errors"
	"fmt"
	"net/url"
	"time"
)

// Mode says what makes the generator send the next request.
type Mode string

// The modes.
const (
	Open   Mode = "open"   // the clock: so many a second, whatever comes back
	Closed Mode = "closed" // the last answer: as many as the server bears
)

// Names says what users are called. It matters: names in order are kind to
// B-trees and caches, random ones are not.
type Names string

// The kinds of names. Both are 17 bytes long and never come twice in a run.
const (
	Sequential Names = "seq"
	Random     Names = "random"
)

// Plan is one run of the generator.
type Plan struct {
	Server string // base URL, such as http://127.0.0.1:8080; plain HTTP only
	Sale   string
	Item   string // empty: the sale has one
	Token  string // bearer token; the batch endpoint needs it

	Mode    Mode
	Rate    float64 // Open: requests a second
	Poisson bool    // Open: random gaps with that mean, as of independent buyers, instead of even ones

	// Duration is how long requests are sent. Requests, when above 0, ends
	// the run earlier, after that many. Warmup is the part at the beginning
	// that is counted but not measured.
	Duration time.Duration
	Warmup   time.Duration
	Requests int64

	Connections int
	PerRequest  int // claims in one request; above 1 the batch endpoint is used. 0 means 1

	Names Names
	Seed  uint64 // makes the random names and gaps; runs with different seeds have different users

	// GiveUp is for the open loop: a request that could not be sent this long
	// after it was due, because all connections were busy, is counted as
	// unsent. 0 means never.
	GiveUp time.Duration

	// AnswerTimeout is how long answers are waited for after the last request
	// was sent. 0 means 10 seconds.
	AnswerTimeout time.Duration
}

// Bounds of a plan.
const (
	MaxConnections = 20_000
	MaxPerRequest  = 1_000
	MaxRate        = 2_000_000.0
	MaxDuration    = time.Hour
)

// Validate says what is wrong with a plan, without carrying it out.
func (p Plan) Validate() error {
	_, err := p.complete()
	return err
}

// complete fills in the defaults and refuses what cannot be carried out. It
// returns host:port.
func (p *Plan) complete() (addr string, err error) {
	if p.PerRequest == 0 {
		p.PerRequest = 1
	}
	if p.AnswerTimeout == 0 {
		p.AnswerTimeout = 10 * time.Second
	}
	u, err := url.Parse(p.Server)
	if err != nil {
		return "", fmt.Errorf("server %q: %w", p.Server, err)
	}
	if u.Scheme != "http" || u.Hostname() == "" {
		return "", fmt.Errorf("server %q: must be like http://127.0.0.1:8080 (plain HTTP: put the load behind what ends TLS)", p.Server)
	}
	addr = u.Host
	if u.Port() == "" {
		addr += ":80"
	}
	return addr, p.validate()
}

func (p *Plan) validate() error {
	switch {
	case p.Sale == "":
		return errors.New("sale: must be given")
	case p.Mode != Open && p.Mode != Closed:
		return fmt.Errorf("mode %q: must be %q or %q", p.Mode, Open, Closed)
	case p.Mode == Open && !(p.Rate > 0 && p.Rate <= MaxRate):
		return fmt.Errorf("rate %g: must be above 0 and at most %g requests a second", p.Rate, MaxRate)
	case p.Duration <= 0 || p.Duration > MaxDuration:
		return fmt.Errorf("duration %s: must be above 0 and at most %s", p.Duration, MaxDuration)
	case p.Warmup < 0 || p.Warmup >= p.Duration:
		return fmt.Errorf("warm-up %s: must be shorter than the duration (%s)", p.Warmup, p.Duration)
	case p.Requests < 0:
		return fmt.Errorf("requests %d: must not be negative", p.Requests)
	case p.Connections < 1 || p.Connections > MaxConnections:
		return fmt.Errorf("connections %d: must be 1 to %d", p.Connections, MaxConnections)
	case p.PerRequest < 1 || p.PerRequest > MaxPerRequest:
		return fmt.Errorf("claims in a request %d: must be 1 to %d", p.PerRequest, MaxPerRequest)
	case p.Names != Sequential && p.Names != Random:
		return fmt.Errorf("users %q: must be %q or %q", p.Names, Sequential, Random)
	case p.GiveUp < 0 || p.AnswerTimeout < 0:
		return errors.New("times must not be negative")
	}
	return nil
}
