package stage

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"rushgate/lab"
	"rushgate/lab/trial"
)

// parseRedis reads the addresses that were given. One user has them all.
func (s *Stage) parseRedis() error {
	for _, given := range s.opts.Redis {
		address := given
		if !strings.Contains(address, "://") {
			address = "redis://" + address
		}
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "redis" || u.Port() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
			return errors.New("a Redis is given as host:port or redis://user:password@host:port")
		}
		if u.User != nil {
			s.user = u.User
		}
		s.redis = append(s.redis, u.Host)
	}
	return nil
}

// redisEach does something on every Redis.
func (s *Stage) redisEach(ctx context.Context, do func(*redis.Client) error) error {
	for _, addr := range s.redis {
		password, _ := s.user.Password()
		db := redis.NewClient(&redis.Options{Addr: addr, Username: s.user.Username(), Password: password, MaxRetries: -1, DialerRetries: 1, PoolSize: 2})
		err := do(db)
		if err := errors.Join(err, db.Close()); err != nil {
			return fmt.Errorf("the Redis at %s: %w", addr, err)
		}
	}
	return nil
}

// reach asks every Redis that was given whether it takes the crowd.
func (s *Stage) reach(ctx context.Context) error {
	return s.redisEach(ctx, func(db *redis.Client) error {
		most, err := db.ConfigGet(ctx, "maxclients").Result()
		if err != nil {
			return db.Ping(ctx).Err() // it does not let everybody see its settings
		}
		n, err := strconv.Atoi(most["maxclients"])
		if err == nil && n < s.opts.Connections+spare {
			return fmt.Errorf("it takes %d connections, and --connections %d needs %d: ask for fewer, or raise maxclients",
				n, s.opts.Connections, s.opts.Connections+spare)
		}
		return err
	})
}

// clean removes every key of the lab.
func (s *Stage) clean(ctx context.Context) error {
	return s.redisEach(ctx, func(db *redis.Client) error {
		keys := db.Scan(ctx, 0, "rushgate-lab:*", 1000).Iterator()
		for keys.Next(ctx) {
			if err := db.Del(ctx, keys.Val()).Err(); err != nil {
				return err
			}
		}
		return keys.Err()
	})
}

// Count asks the servers of a way what they have carried out.
func (s *Stage) Count(ctx context.Context, way lab.Way) (trial.Count, error) {
	sum := trial.Count{Commands: -1, RoundTrips: -1}
	add := func(commands, trips int64) {
		sum.Commands, sum.RoundTrips = max(sum.Commands, 0)+commands, max(sum.RoundTrips, 0)+trips
	}
	for _, n := range way.Needs {
		var err error
		switch n {
		case lab.Redis, lab.ThreeRedis:
			err = s.redisEach(ctx, func(db *redis.Client) error {
				info, err := db.Info(ctx, "stats").Result()
				add(number(info, "total_commands_processed"), number(info, "total_reads_processed"))
				return err
			})
		case lab.PostgreSQL, lab.MariaDB:
			db := s.postgres
			if n == lab.MariaDB {
				db = s.mariadb
			}
			statements, err := db.statements(ctx)
			if err != nil {
				return sum, err
			}
			if statements < 0 {
				return trial.Count{Commands: -1, RoundTrips: -1}, nil
			}
			add(statements, statements)
		}
		if err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// number reads one line of INFO.
func number(info, name string) int64 {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			n, _ := strconv.ParseInt(value, 10, 64) // Redis writes numbers there
			return n
		}
	}
	return 0
}
