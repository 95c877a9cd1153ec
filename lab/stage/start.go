package stage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"rushgate/internal/testenv"
	"rushgate/lab"
)

// spare is how many connections a server takes beside the crowd's: those of the
// lab itself, of a second process, and of the server's own.
const spare = 60

// start starts what is needed, all at the same time: most of the wait is for
// disks.
func (s *Stage) start(ctx context.Context) {
	var mu sync.Mutex
	var all sync.WaitGroup
	try := func(need lab.Need, start func() (end func(), err error)) {
		if !s.needs(need) && !(need == lab.Redis && s.needs(lab.ThreeRedis)) {
			return
		}
		all.Go(func() {
			end, err := start()
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				s.missing[need] = err
			}
			if end != nil {
				s.ends = append(s.ends, end)
			}
		})
	}
	try(lab.Redis, func() (func(), error) { return s.startRedis(ctx) })
	try(lab.PostgreSQL, func() (func(), error) { return s.startPostgres(ctx) })
	try(lab.MariaDB, func() (func(), error) { return s.startMariaDB(ctx) })
	all.Wait()
	if err := s.missing[lab.Redis]; err != nil {
		s.missing[lab.ThreeRedis] = err
	} else if len(s.redis.Redis) < 3 {
		s.missing[lab.ThreeRedis] = errFewRedis
	}
}

func (s *Stage) startRedis(ctx context.Context) (func(), error) {
	if len(s.opts.Redis) > 0 {
		var err error
		if s.redis, err = parseRedis(s.opts.Redis); err != nil {
			return nil, err
		}
		if err := s.reach(ctx); err != nil {
			return nil, err
		}
		leave, err := s.aloneInRedis(ctx)
		if err != nil {
			return nil, err
		}
		return func() { _ = s.clean(context.WithoutCancel(ctx)); leave() }, nil
	}
	n := 1
	if s.needs(lab.ThreeRedis) {
		n = 3
	}
	var servers []*testenv.RedisServer
	end := func() {
		for _, r := range servers {
			r.Stop()
		}
	}
	for i := range n {
		dir, err := s.folder(fmt.Sprintf("redis%d", i))
		if err != nil {
			return end, err
		}
		r, err := testenv.StartRedis(dir)
		if err != nil {
			return end, err
		}
		servers = append(servers, r)
		s.redis.Redis = append(s.redis.Redis, r.Addr)
	}
	return end, nil
}

func (s *Stage) startPostgres(ctx context.Context) (func(), error) {
	if s.opts.Postgres != "" {
		var err error
		if s.postgres, err = openDatabase(ctx, "pgx", s.opts.Postgres); err == nil {
			err = s.postgres.alone(ctx)
		}
		return s.postgres.end, err
	}
	connections := fmt.Sprintf("max_connections=%d", 2*s.opts.Connections+spare)
	dir, err := s.folder("postgres")
	if err != nil {
		return nil, err
	}
	server, err := testenv.StartPostgres(dir, connections, "shared_preload_libraries=pg_stat_statements")
	if err != nil { // it may have been installed without its extensions: then nobody counts
		if dir, err = s.folder("postgres-plain"); err != nil {
			return nil, err
		}
		if server, err = testenv.StartPostgres(dir, connections); err != nil {
			return nil, err
		}
	}
	s.postgres, err = openDatabase(ctx, "pgx", server.URL("postgres"))
	return func() { s.postgres.end(); server.Stop() }, err
}

func (s *Stage) startMariaDB(ctx context.Context) (func(), error) {
	if s.opts.MariaDB != "" {
		var err error
		if s.mariadb, err = openDatabase(ctx, "mysql", s.opts.MariaDB); err == nil {
			err = s.mariadb.alone(ctx)
		}
		return s.mariadb.end, err
	}
	dir, err := s.folder("mariadb")
	if err != nil {
		return nil, err
	}
	server, err := testenv.StartMariaDB(dir, fmt.Sprintf("max_connections=%d", 2*s.opts.Connections+spare))
	if err != nil {
		return nil, err
	}
	s.mariadb, err = openDatabase(ctx, "mysql", server.URL(""))
	return func() { s.mariadb.end(); server.Stop() }, err
}

func (s *Stage) folder(name string) (string, error) {
	dir := filepath.Join(s.dir, name)
	return dir, os.Mkdir(dir, 0o711)
}
