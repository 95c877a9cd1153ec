package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"rushgate/lab"
	"rushgate/lab/trial"
)

// redisEach does something on every Redis.
func (s *Stage) redisEach(ctx context.Context, do func(*redis.Client) error) error {
	for _, addr := range s.redis.Redis {
		options := s.redis.RedisOptions(addr)
		options.PoolSize = 2
		db := redis.NewClient(options)
		err := do(db)
		if err := errors.Join(err, db.Close()); err != nil {
			return fmt.Errorf("the Redis at %s: %w", addr, err)
		}
	}
	return nil
}

// reach asks every Redis that was given whether it takes writes and the crowd.
func (s *Stage) reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	return s.redisEach(ctx, func(db *redis.Client) error {
		if err := db.Ping(ctx).Err(); err != nil {
			return s.misunderstood(err)
		}
		info, _ := db.Info(ctx).Result() // it does not tell everybody
		switch {
		case number(info, "cluster_enabled") == 1:
			return errors.New("it is a node of a cluster, which the classic ways do not know: give one that is none")
		case strings.Contains(info, "role:slave"):
			return errors.New("it is a replica, which takes no writes: give its master")
		}
		most, err := db.ConfigGet(ctx, "maxclients").Result()
		if err != nil {
			return nil // it does not let everybody see its settings
		}
		n, err := strconv.Atoi(most["maxclients"])
		if err == nil && n < s.opts.Connections+spare {
			return fmt.Errorf("it takes %d connections, and --connections %d needs %d: ask for fewer, or raise maxclients",
				n, s.opts.Connections, s.opts.Connections+spare)
		}
		return err
	})
}

// misunderstood adds what it looks like when only one of two speaks TLS.
func (s *Stage) misunderstood(err error) error {
	switch {
	case s.redis.RedisTLS && errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: if it does not speak TLS, write redis://", err)
	case !s.redis.RedisTLS && errors.Is(err, io.EOF):
		return fmt.Errorf("%w: if it wants TLS, write rediss://", err)
	}
	return err
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
