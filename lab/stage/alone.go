package stage

import (
	"context"
	"errors"
	"fmt"

	"rushgate/lock"
	redislock "rushgate/lock/redis"
)

// A server that was given has one lab at a time. Two would forget each other's
// sales, sell each other's stock, and count each other's commands; so the second
// one is told, and not served.
var errBusy = errors.New("another lab is at work there, and two would disturb each other: wait for it, or give another server (of a lab that was killed nothing is left after a few seconds)")

// aloneKeys begins the keys of the lock, which are not among those that labs clean
// up.
const aloneKeys = "rushgate-lab-alone:"

// aloneInRedis takes every Redis that was given for this lab, and returns how to
// let them go. What is taken is renewed until then, and ends by itself soon after
// the lab has died.
func (s *Stage) aloneInRedis(ctx context.Context) (leave func(), err error) {
	var ends []func()
	leave = func() {
		for _, end := range ends {
			end()
		}
	}
	for _, addr := range s.redis.Redis {
		end, err := s.take(ctx, addr)
		if err != nil {
			leave()
			return nil, fmt.Errorf("the Redis at %s: %w", addr, err)
		}
		ends = append(ends, end)
	}
	return leave, nil
}

func (s *Stage) take(ctx context.Context, addr string) (leave func(), err error) {
	client, err := s.redis.OpenRueidis(addr)
	if err != nil {
		return nil, err
	}
	backend, err := redislock.New(client, redislock.Options{Prefix: aloneKeys})
	if err != nil {
		client.Close()
		return nil, err
	}
	locker, err := lock.New(backend, lock.Options{})
	if err != nil {
		client.Close()
		return nil, err
	}
	end := func() { _ = locker.Close(); client.Close() } // what it could not let go ends by itself
	ctx = context.WithoutCancel(ctx)
	if _, err = locker.TryLock(ctx, "lab"); err != nil {
		end()
		if errors.Is(err, lock.ErrHeld) {
			err = errBusy
		}
		return nil, err
	}
	return func() {
		// The last fence would be kept for ever. Nobody here looks at it.
		_ = client.Do(ctx, client.B().Del().Key(aloneKeys+"{lab}:fence").Build()).Error()
		end()
	}, nil
}

// alone takes a database server for this lab, until its connection ends: in
// MariaDB the server, in PostgreSQL the database that was given.
func (d *database) alone(ctx context.Context) error {
	question := "SELECT pg_try_advisory_lock(hashtext('rushgate lab'))"
	if d.driver == "mysql" {
		question = "SELECT coalesce(GET_LOCK('rushgate lab', 0), 0)"
	}
	var err error
	if d.holder, err = d.db.Conn(ctx); err != nil {
		return err
	}
	got := false
	if err := d.holder.QueryRowContext(ctx, question).Scan(&got); err != nil {
		return fmt.Errorf("%s: %w", d.url.Host, err)
	}
	if !got {
		return fmt.Errorf("%s: %w", d.url.Host, errBusy)
	}
	return nil
}

// leave lets the server go. To end the connection would do so as well, but only
// when the server has noticed: a lab that begins at once would find it taken.
func (d *database) leave(ctx context.Context) {
	if d.holder == nil {
		return
	}
	release := "SELECT pg_advisory_unlock(hashtext('rushgate lab'))"
	if d.driver == "mysql" {
		release = "DO RELEASE_LOCK('rushgate lab')"
	}
	_, _ = d.holder.ExecContext(ctx, release)
	_ = d.holder.Close()
}
