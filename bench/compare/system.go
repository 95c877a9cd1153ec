package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"rushgate/internal/testenv"
)

// The systems that are compared.
const (
	sysEmpty    = "empty handler"
	sysRedis    = "redis script"
	sysSQLRow   = "sqlite row by row"
	sysRushgate = "rushgate"
	sysCluster  = "rushgate cluster" // Redis gate and PostgreSQL, all on this machine
)

// server is a system that runs and takes claims.
type server struct {
	system string
	url    string
	token  string
	data   string
	parts  []process      // whose processor time is its own, with their children
	ends   []func() error // the first one takes away what the books are read from

	postgres *testenv.PostgresServer // of sysCluster
	gate     *testenv.RedisServer
}

// process is one process of a system.
type process struct {
	name string
	pid  int
}

// The processes of a cluster.
const (
	procNode     = "node"
	procRedis    = "Redis"
	procPostgres = "PostgreSQL"
)

// start starts a system in a fresh folder, with a sale called "bench" of so
// many units.
func (b *bench) start(ctx context.Context, system string, stock int64, flags ...string) (*server, error) {
	dir, err := b.fresh()
	if err != nil {
		return nil, err
	}
	s := &server{system: system, data: dir}
	s.ends = append(s.ends, func() error { return os.RemoveAll(dir) })
	switch system {
	case sysRushgate:
		err = s.rushgate(ctx, b, stock, flags)
	case sysCluster:
		err = s.cluster(ctx, b, stock, flags)
	case sysRedis:
		err = s.redis(b, stock)
	case sysSQLRow:
		err = s.baseline(b, "--kind", "sqlrow", "--data", dir, "--stock", strconv.FormatInt(stock, 10))
	default:
		err = s.baseline(b, "--kind", "empty")
	}
	if err != nil {
		return nil, errors.Join(err, s.end())
	}
	return s, nil
}

func (s *server) redis(b *bench, stock int64) error {
	r, err := testenv.StartRedis(s.data)
	if err != nil {
		return err
	}
	s.ends = append(s.ends, func() error { r.Stop(); return nil })
	s.parts = append(s.parts, process{procRedis, r.PID()})
	return s.baseline(b, "--kind", "redis", "--redis", r.Addr, "--stock", strconv.FormatInt(stock, 10))
}

func (s *server) baseline(b *bench, args ...string) error {
	c, err := start(s.system, s.data, filepath.Join(b.bin, "baseline"), args...)
	if err != nil {
		return err
	}
	s.own(c)
	return c.until(func() bool {
		_, url, ok := strings.Cut(c.said.String(), "listening on ")
		s.url = strings.TrimSpace(url)
		return ok && strings.HasSuffix(url, "\n")
	})
}

func (s *server) own(c *child) {
	s.parts = append(s.parts, process{procNode, c.pid()})
	s.ends = append(s.ends, c.stop)
}

// stop ends the processes of the system and keeps its data.
func (s *server) stop() error {
	var err error
	for i := len(s.ends) - 1; i > 0; i-- {
		err = errors.Join(err, s.ends[i]())
	}
	s.ends = s.ends[:1]
	return err
}

// end stops the system and removes its data.
func (s *server) end() error { return errors.Join(s.stop(), s.ends[0]()) }

// cpu returns the processor time that each process of the system has used so far.
func (s *server) cpu() spent {
	used := spent{}
	for _, p := range s.parts {
		used[p.name] += cpu(p.pid)
		for _, child := range children(p.pid) { // PostgreSQL has one for each connection
			used[p.name] += cpu(child)
		}
	}
	return used
}

// spent is processor time by process.
type spent map[string]time.Duration

func (s spent) all() (sum time.Duration) {
	for _, d := range s {
		sum += d
	}
	return sum
}

// since is what was spent after a moment.
func (s spent) since(before spent) spent {
	later := spent{}
	for name, d := range s {
		later[name] = d - before[name]
	}
	return later
}

// each shares it out to so many requests, in microseconds.
func (s spent) each(n int64) map[string]float64 {
	shares := map[string]float64{}
	for name, d := range s {
		shares[name] = perRequest(d, n)
	}
	return shares
}

func (s *server) resident() int64 {
	var sum int64
	for _, p := range s.parts {
		sum += resident(p.pid)
	}
	return sum
}
