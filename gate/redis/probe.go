package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// Facts are what `rushgate check` wants to know of one server.
type Facts struct {
	Addr     string
	Version  string // as it calls itself; Valkey names the Redis that it is like
	Mode     string // standalone, sentinel or cluster
	Role     string // master or slave
	Replicas int    // that are connected
	RunID    string

	AppendOnly bool   // it keeps a log of changes
	Fsync      string // always, everysec or no; empty when it does not tell
	Save       string // when it writes snapshots; empty when never, or when it does not tell
	Loading    bool   // it is reading its data at this moment

	Policy    string // maxmemory-policy
	MaxMemory int64  // bytes; 0: no bound
	Memory    int64  // bytes in use

	Skew time.Duration // by how much its clock is ahead of ours, give or take half of Trip
	Trip time.Duration // there and back
}

// Probe asks every server that the gate is connected to, in the order of their
// addresses.
func (g *Gate) Probe(ctx context.Context) ([]Facts, error) {
	ctx, cancel := context.WithTimeout(ctx, g.opts.Patience)
	defer cancel()
	nodes := g.client.Nodes()
	var all []Facts
	for _, addr := range slices.Sorted(maps.Keys(nodes)) {
		f, err := probe(ctx, addr, nodes[addr])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", addr, err)
		}
		all = append(all, f)
	}
	return all, nil
}

func probe(ctx context.Context, addr string, c rueidis.Client) (Facts, error) {
	text, err := c.Do(ctx, c.B().Info().Build()).ToString()
	if err != nil {
		return Facts{}, explain(err)
	}
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(info[name], 10, 64)
		return n
	}
	f := Facts{Addr: addr, Version: info["redis_version"], Mode: info["redis_mode"], Role: info["role"], RunID: info["run_id"],
		Replicas: int(number("connected_slaves")), AppendOnly: info["aof_enabled"] == "1", Loading: info["loading"] == "1",
		Policy: info["maxmemory_policy"], MaxMemory: number("maxmemory"), Memory: number("used_memory")}
	began := time.Now()
	at, err := c.Do(ctx, c.B().Time().Build()).AsIntSlice()
	if err != nil || len(at) != 2 {
		return f, errors.Join(errors.New("it does not tell the time"), err)
	}
	f.Trip = time.Since(began)
	f.Skew = time.Unix(at[0], at[1]*1000).Sub(began.Add(f.Trip / 2))
	// Hosted servers often forbid CONFIG: then these two stay unknown.
	if conf, err := c.Do(ctx, c.B().ConfigGet().Parameter("appendfsync", "save").Build()).AsStrMap(); err == nil {
		f.Fsync, f.Save = conf["appendfsync"], conf["save"]
	}
	return f, nil
}

// wrong says why a server cannot be used, or nothing.
func (f *Facts) wrong() error {
	major, _, _ := strings.Cut(f.Version, ".")
	n, err := strconv.Atoi(major)
	switch {
	case err != nil || n < oldest:
		return fmt.Errorf("it is Redis %s: version %d or later is needed, or Valkey", f.Version, oldest)
	case f.Loading:
		return errors.New("it is still reading its data from disk: try again when it serves")
	case f.Role == "master" && f.Policy != "noeviction":
		return fmt.Errorf("its maxmemory-policy is %q, and it may drop what it knows of a sale: CONFIG SET maxmemory-policy noeviction", f.Policy)
	}
	return nil
}

// oldest is the first version that the tests have run with.
const oldest = 7

// inspect refuses servers that cannot be used.
func (g *Gate) inspect(ctx context.Context) error {
	all, err := g.Probe(ctx)
	if err != nil {
		return err
	}
	masters := 0
	for i := range all {
		if err := all[i].wrong(); err != nil {
			return fmt.Errorf("%s: %w", all[i].Addr, err)
		}
		if all[i].Role == "master" {
			masters++
		}
	}
	if masters == 0 {
		return fmt.Errorf("%s is a read-only replica: name the master in the URL, or its sentinels with ?sentinel=NAME", all[0].Addr)
	}
	return g.claimPrefix(ctx)
}

// claimPrefix writes the ledger's name beside the sales, or finds another one.
func (g *Gate) claimPrefix(ctx context.Context) error {
	if g.opts.Ledger == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, g.opts.Patience)
	defer cancel()
	key := g.names.ledger()
	if err := g.client.Do(ctx, g.client.B().Set().Key(key).Value(g.opts.Ledger).Nx().Build()).Error(); err != nil && !rueidis.IsRedisNil(err) {
		return explain(err)
	}
	owner, err := g.client.Do(ctx, g.client.B().Get().Key(key).Build()).ToString()
	if err != nil {
		return explain(err)
	}
	if owner != g.opts.Ledger {
		return fmt.Errorf("the prefix %q serves another ledger (%s, not %s): give each cluster its own with ?prefix=…, or delete the key %s if that one is no more",
			g.opts.Prefix, owner, g.opts.Ledger, key)
	}
	return nil
}

// Owner returns the name of the ledger whose sales are in Redis, as the first
// gate that was opened for it has written it; empty if nobody has.
func (g *Gate) Owner(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, g.opts.Patience)
	defer cancel()
	owner, err := g.client.Do(ctx, g.client.B().Get().Key(g.names.ledger()).Build()).ToString()
	switch {
	case rueidis.IsRedisNil(err):
		return "", nil
	case err != nil:
		return "", explain(err)
	}
	return owner, nil
}

// unreachable puts the mend before an error of a connection.
func unreachable(err error) error {
	var plain tls.RecordHeaderError
	var untrusted *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &plain):
		return fmt.Errorf("the server does not speak TLS: write redis:// instead of rediss://: %w", err)
	case errors.As(err, &untrusted), errors.As(err, &unknown):
		return fmt.Errorf("the server's certificate is not trusted: install its authority on this machine: %w", err)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("the server closes the connection at once: if it wants TLS, write rediss://: %w", err)
	}
	return fmt.Errorf("the server does not answer: %w", err)
}
