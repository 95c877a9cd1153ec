package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"rushgate/lab"
)

// Options say where to sell.
type Options struct {
	Redis       []string // host:port, or redis://user:password@host:port; empty: private ones
	Postgres    string   // postgres://user:password@host:port/database; empty: a private one
	MariaDB     string   // mysql://user:password@host:port/database; empty: a private one
	Connections int      // of the crowd
	Needs       []lab.Need
}

// Stage is the servers that are there.
type Stage struct {
	opts     Options
	dir      string
	redis    lab.Place // what it says of Redis
	postgres *database
	mariadb  *database
	missing  map[lab.Need]error
	ends     []func()
	places   int
	pairs    int // of Redis, that were started
}

// Open starts what is needed and was not given, all at the same time. What cannot
// be started is left out: see Missing. What was given and cannot be used is an
// error: whoever gives an address does not want to do without. The caller closes
// the stage.
func Open(ctx context.Context, opts Options) (*Stage, error) {
	if err := cmp.Or(opts.Validate(), enoughFiles(opts.Connections)); err != nil {
		return nil, err
	}
	s := &Stage{opts: opts, missing: map[lab.Need]error{}}
	var err error
	if s.dir, err = os.MkdirTemp("", "rushgate-lab-"); err != nil {
		return nil, fmt.Errorf("the lab needs a temporary folder: %w", err)
	}
	s.ends = append(s.ends, func() { _ = os.RemoveAll(s.dir) })
	if err := os.Chmod(s.dir, 0o711); err != nil { // PostgreSQL's user passes through
		s.Close()
		return nil, err
	}
	s.start(ctx)
	if err := cmp.Or(ctx.Err(), s.useless()); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// useless says which of the servers that were given cannot be used.
func (s *Stage) useless() error {
	for _, given := range []struct {
		need lab.Need
		flag string
		is   bool
	}{
		{lab.Redis, "--redis", len(s.opts.Redis) > 0},
		{lab.PostgreSQL, "--postgres", s.opts.Postgres != ""},
		{lab.MariaDB, "--mariadb", s.opts.MariaDB != ""},
	} {
		if err := s.missing[given.need]; given.is && err != nil {
			return fmt.Errorf("%s: %s", given.flag, firstLine(err))
		}
	}
	return nil
}

func (s *Stage) needs(n lab.Need) bool { return slices.Contains(s.opts.Needs, n) }

// Missing says why a way cannot be tried here; nil if it can.
func (s *Stage) Missing(way lab.Way) error {
	for _, n := range way.Needs {
		if err := s.missing[n]; err != nil {
			return err
		}
	}
	return nil
}

// Close ends the servers that were started, and removes everything that the lab
// left on those that were given.
func (s *Stage) Close() {
	for _, end := range slices.Backward(s.ends) {
		end()
	}
	s.ends = nil
}

// Place makes a place for one sale of a way.
func (s *Stage) Place(ctx context.Context, way lab.Way) (lab.Place, error) {
	if err := s.Missing(way); err != nil {
		return lab.Place{}, err
	}
	s.places++
	number := strconv.Itoa(s.places)
	p := s.redis
	p.Prefix, p.Folder = "rushgate-lab:"+number+":", filepath.Join(s.dir, number)
	p.Lease, p.Connections = lab.UsualLease, s.opts.Connections
	if err := os.Mkdir(p.Folder, 0o700); err != nil {
		return p, err
	}
	for need, db := range map[lab.Need]*database{lab.PostgreSQL: s.postgres, lab.MariaDB: s.mariadb} {
		if !slices.Contains(way.Needs, need) {
			continue
		}
		if err := db.bears(ctx, s.opts.Connections); err != nil {
			return p, err
		}
		url, err := db.place(ctx, way.Family == lab.Ours, number)
		if err != nil {
			return p, err
		}
		if need == lab.PostgreSQL {
			p.Postgres = url
		} else {
			p.MariaDB = url
		}
	}
	if way.InRedis() {
		if err := s.clean(ctx); err != nil {
			return p, err
		}
	}
	return p, nil
}

// Choose leaves out what cannot be tried here, and says why. Ways on SQLite stand
// in for those on servers: where there is a server, they are tried only if
// somebody asked for them.
func (s *Stage) Choose(ways []lab.Way, asked bool) (possible []lab.Way, notes []string) {
	server := s.postgres != nil && s.missing[lab.PostgreSQL] == nil || s.mariadb != nil && s.missing[lab.MariaDB] == nil
	left := map[string]int{}
	for _, w := range ways {
		why := ""
		if err := s.Missing(w); err != nil {
			why = firstLine(err)
		}
		switch {
		case why == "" && !asked && server && w.Stopgap():
			continue
		case why == "":
			possible = append(possible, w)
			continue
		case left[why] == 0:
			notes = append(notes, why)
		}
		left[why]++
	}
	for i, why := range notes {
		are := "are"
		if left[why] == 1 {
			are = "is"
		}
		notes[i] = fmt.Sprintf("%d of the ways %s left out: %s", left[why], are, why)
	}
	return possible, notes
}

var errFewRedis = errors.New("three independent Redis are needed for Redlock: give three addresses")
