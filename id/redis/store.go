package redis

import (
	"context"
	"crypto/sha1" // the name by which Redis knows a script
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"rushgate/id"
)

var (
	//go:embed lease.lua
	leaseLua string
	//go:embed acquire.lua
	acquireLua string
	//go:embed renew.lua
	renewLua string
	//go:embed release.lua
	releaseLua string
)

// Options tune a store.
type Options struct {
	// Name is the register: nodes that share one never share a number. 1 to 64
	// letters, digits, - and _; default "default".
	Name string

	// Prefix begins the key: PREFIX{NAME}. At most 64 bytes, without braces;
	// default "id:".
	Prefix string

	// Grace is how long after now the first windows begin in a Redis that may
	// have forgotten: see the package comment. Default, 0: a lease and a second.
	// At most two hours.
	Grace time.Duration
}

// Store is an id.Store in Redis.
type Store struct {
	client                  rueidis.Client
	opts                    Options
	key                     string
	acquire, renew, release script
}

var _ id.Store = (*Store)(nil)

// New returns a store on a client, which the caller keeps and closes. Nothing is
// asked of the server yet.
func New(client rueidis.Client, opts Options) (*Store, error) {
	if opts.Name == "" {
		opts.Name = "default"
	}
	if opts.Prefix == "" {
		opts.Prefix = "id:"
	}
	switch {
	case client == nil:
		return nil, errors.New("id/redis: a store needs a client")
	case len(opts.Name) > 64 || strings.Trim(opts.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "":
		return nil, fmt.Errorf("id/redis: name %q: must be 1 to 64 letters, digits, - and _", opts.Name)
	case len(opts.Prefix) > 64 || strings.ContainsAny(opts.Prefix, "{}"):
		return nil, fmt.Errorf("id/redis: prefix %q: must be at most 64 bytes without braces", opts.Prefix)
	case opts.Grace < 0 || opts.Grace > 2*time.Hour:
		return nil, fmt.Errorf("id/redis: grace %s: must be 0 (a lease and a second) to 2h", opts.Grace)
	}
	return &Store{client: client, opts: opts, key: opts.Prefix + "{" + opts.Name + "}",
		acquire: newScript(leaseLua + acquireLua), renew: newScript(leaseLua + renewLua), release: newScript(releaseLua)}, nil
}

// Acquire leases a number: see id.Store.
func (s *Store) Acquire(ctx context.Context, q id.Request) (id.Lease, error) {
	return s.lease(ctx, &s.acquire, q, -1)
}

// Renew extends a window: see id.Store.
func (s *Store) Renew(ctx context.Context, number int, q id.Request) (id.Lease, error) {
	return s.lease(ctx, &s.renew, q, number)
}

// Release gives a number back: see id.Store.
func (s *Store) Release(ctx context.Context, number int, owner string, usedMs int64) error {
	_, err := s.run(ctx, &s.release, owner, strconv.Itoa(number), strconv.FormatInt(usedMs, 10)).AsInt64()
	return explain(err)
}

func (s *Store) lease(ctx context.Context, sc *script, q id.Request, number int) (id.Lease, error) {
	if err := q.Validate(); err != nil {
		return id.Lease{}, err
	}
	grace := s.opts.Grace
	if grace == 0 {
		grace = q.TTL + time.Second
	}
	answer, err := s.run(ctx, sc, q.Owner, q.Layout.String(), strconv.Itoa(q.Layout.Nodes()), ms(q.TTL),
		strconv.FormatInt(q.ClockMs, 10), strconv.FormatInt(q.SkewMs, 10), ms(grace), strconv.Itoa(number)).ToArray()
	if err != nil {
		return id.Lease{}, explain(err)
	}
	return read(answer, &q, number)
}

func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// read takes the answer of a script apart: see lease.lua.
func read(answer []rueidis.RedisMessage, q *id.Request, number int) (id.Lease, error) {
	if len(answer) < 3 {
		return id.Lease{}, fmt.Errorf("id/redis: a script answered %d values", len(answer))
	}
	status, err := answer[0].ToString()
	if err != nil {
		return id.Lease{}, explain(err)
	}
	if status != "ok" {
		now, err := answer[1].AsInt64()
		layout, err2 := answer[2].ToString()
		if err := errors.Join(err, err2); err != nil {
			return id.Lease{}, explain(err)
		}
		return id.Lease{}, refusal(status, q, number, now, layout)
	}
	var n [4]int64
	for i := range n {
		if len(answer) != 5 {
			return id.Lease{}, fmt.Errorf("id/redis: a script answered %d values", len(answer))
		}
		if n[i], err = answer[i+1].AsInt64(); err != nil {
			return id.Lease{}, explain(err)
		}
	}
	return id.Lease{Number: int(n[0]), Owner: q.Owner, FromMs: n[1], UntilMs: n[2], NowMs: n[3]}, nil
}

func refusal(status string, q *id.Request, number int, nowMs int64, layout string) error {
	switch status {
	case "none":
		return id.NoNumber(q.Layout)
	case "lost":
		return id.Lost(number)
	case "clock", "layout":
		if err := q.Agree(nowMs, layout); err != nil {
			return err
		}
	}
	return fmt.Errorf("id/redis: a script answered %q", status)
}

// script is a Lua script and the hash by which a server that has it runs it.
type script struct{ body, sha string }

func newScript(body string) script {
	sum := sha1.Sum([]byte(body))
	return script{body: body, sha: hex.EncodeToString(sum[:])}
}

// run sends the hash of a script, and the script where that is not known.
func (s *Store) run(ctx context.Context, sc *script, args ...string) rueidis.RedisResult {
	r := s.client.Do(ctx, s.client.B().Evalsha().Sha1(sc.sha).Numkeys(1).Key(s.key).Arg(args...).Build())
	if e, ok := rueidis.IsRedisErr(r.Error()); ok && e.IsNoScript() {
		r = s.client.Do(ctx, s.client.B().Eval().Script(sc.body).Numkeys(1).Key(s.key).Arg(args...).Build())
	}
	return r
}

func explain(err error) error {
	if err != nil {
		err = fmt.Errorf("id/redis: %w", err)
	}
	return err
}
