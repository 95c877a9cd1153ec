// Package postgres keeps the claims of package lock in PostgreSQL, as durably
// as everything else there: a lock survives a crash of the server, and fences
// grow across it, if fsync and synchronous_commit are on (they are by default).
//
// A grant and a renewal wait for the disk. That somebody waits, or has left while
// nobody waited, does not: a crash may forget it, and then who waits asks again, and
// what was released ends with its lease.
//
// Whoever waits is told by NOTIFY, on one connection for each Locker that waits.
// That needs a session of its own: a pooler between must not share sessions by
// transaction, or those who wait hear nothing and ask only now and then.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"rushgate/lock"
)

// Options are what a Backend is made with. The zero value of every field means
// its default.
type Options struct {
	// Schema is where the tables and functions are; 1 to 24 lower-case letters,
	// digits and underscores, the first one a letter; default "lock". Those who
	// are to exclude each other have the same.
	Schema string
}

const longestSchema = 24 // with a node's name it must fit into a channel's, 63 bytes

func (o *Options) complete() error {
	if o.Schema == "" {
		o.Schema = "lock"
	}
	ok := len(o.Schema) <= longestSchema && o.Schema[0] >= 'a' && o.Schema[0] <= 'z'
	for _, c := range []byte(o.Schema) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_')
	}
	if !ok {
		return fmt.Errorf("%w: the schema must be 1 to %d lower-case letters, digits and underscores, not %q", lock.ErrInvalid, longestSchema, o.Schema)
	}
	return nil
}

// Backend implements lock.Backend. It has no goroutine and needs no Close.
type Backend struct {
	pool  *pgxpool.Pool
	wakes string // what begins the channels of the nodes

	acquire, renew, release string // statements
}

// New returns a backend on a pool, which the caller closes, after the Locker.
// The schema must be there: see Prepare.
func New(pool *pgxpool.Pool, opts Options) (*Backend, error) {
	if pool == nil {
		return nil, fmt.Errorf("%w: a backend needs a pool", lock.ErrInvalid)
	}
	if err := opts.complete(); err != nil {
		return nil, err
	}
	s := opts.Schema
	return &Backend{pool: pool, wakes: "lock:" + s + ":",
		acquire: "SELECT 1, * FROM " + s + ".acquire($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
		renew:   "SELECT * FROM " + s + ".renew($1, $2, $3, $4, $5, $6)",
		release: "SELECT * FROM " + s + ".release($1, $2, $3, $4)"}, nil
}

// Acquire implements lock.Backend.
func (b *Backend) Acquire(ctx context.Context, c lock.Claim) lock.Answer {
	return b.ask(ctx, 1, b.acquire, c.Key, c.Owner, c.Token, c.Need, c.Limit, c.Lease.Microseconds(), c.Line, b.wakes,
		lock.MaxHolders, lock.MaxHolds)[0]
}

// Renew implements lock.Backend, for all claims in one transaction.
func (b *Backend) Renew(ctx context.Context, claims []lock.Claim) []lock.Answer {
	keys, owners, tokens := columns(claims)
	leases, floors := make([]int64, len(claims)), make([]int64, len(claims))
	for i, c := range claims {
		leases[i], floors[i] = c.Lease.Microseconds(), int64(c.Fence)
	}
	return b.ask(ctx, len(claims), b.renew, keys, owners, tokens, leases, floors, b.wakes)
}

// Release implements lock.Backend, for all claims in one transaction.
func (b *Backend) Release(ctx context.Context, claims []lock.Claim) []lock.Answer {
	keys, owners, tokens := columns(claims)
	return b.ask(ctx, len(claims), b.release, keys, owners, tokens, b.wakes)
}

func columns(claims []lock.Claim) (keys, owners, tokens []string) {
	for _, c := range claims {
		keys, owners, tokens = append(keys, c.Key), append(owners, c.Owner), append(tokens, c.Token)
	}
	return keys, owners, tokens
}

// ask runs a function, in a transaction of its own, and reads n answers: rows of
// a number from 1, the state, the fence, the time left and how many are ahead.
func (b *Backend) ask(ctx context.Context, n int, statement string, args ...any) []lock.Answer {
	answers := make([]lock.Answer, n)
	if n == 0 {
		return answers
	}
	rows, err := b.pool.Query(ctx, statement, args...)
	got := 0
	if err == nil {
		var place, fence, left, ahead int64
		var state int
		_, err = pgx.ForEachRow(rows, []any{&place, &state, &fence, &left, &ahead}, func() error {
			if place < 1 || place > int64(n) {
				return fmt.Errorf("a lock function answers for claim %d of %d", place, n)
			}
			answers[place-1] = lock.Answer{State: lock.State(state), Fence: uint64(fence), Left: time.Duration(left) * time.Microsecond, Ahead: int(ahead)}
			got++
			return nil
		})
	}
	if err == nil && got < n {
		err = fmt.Errorf("a lock function answers for %d claims of %d", got, n)
	}
	if err != nil {
		for i := range answers {
			answers[i] = lock.Answer{Err: explain(err)}
		}
	}
	return answers
}

// quiet is after what time without news the listener asks whether its
// connection is still there: of a network that swallows, nobody is told.
const quiet = 5 * time.Second

// Listen implements lock.Backend.
func (b *Backend) Listen(ctx context.Context, node string, ready func(), granted func(lock.Grant)) error {
	conn, err := b.connect(ctx)
	if err != nil {
		return explain(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{b.wakes + node}.Sanitize()); err != nil {
		return explain(err)
	}
	ready()
	for {
		n, err := await(ctx, conn)
		if err != nil {
			return explain(err)
		}
		if n == nil {
			continue
		}
		token, digits, _ := strings.Cut(n.Payload, " ")
		if fence, err := strconv.ParseUint(digits, 10, 64); err == nil {
			granted(lock.Grant{Token: token, Fence: fence})
		}
	}
}

// connect opens a connection beside the pool, as the pool would.
func (b *Backend) connect(ctx context.Context) (*pgx.Conn, error) {
	config := b.pool.Config()
	if config.BeforeConnect != nil {
		if err := config.BeforeConnect(ctx, config.ConnConfig); err != nil {
			return nil, err
		}
	}
	return pgx.ConnectConfig(ctx, config.ConnConfig)
}

// await waits for news; there are none if all is quiet.
func await(ctx context.Context, conn *pgx.Conn) (*pgconn.Notification, error) {
	short, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	n, err := conn.WaitForNotification(short)
	if err == nil || ctx.Err() != nil || short.Err() == nil {
		return n, err
	}
	alive, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	return nil, conn.Ping(alive)
}

// explain tells a server that may answer another time from one that refuses.
// (https://www.postgresql.org/docs/current/errcodes-appendix.html)
func explain(err error) error {
	var reply *pgconn.PgError
	if !errors.As(err, &reply) {
		if strings.Contains(err.Error(), "closed pool") {
			return err
		}
		return fmt.Errorf("%w: %w", lock.ErrUnavailable, err)
	}
	switch class := reply.Code[:min(2, len(reply.Code))]; {
	case class == "08", class == "40", class == "53", class == "57", class == "58",
		reply.Code == "55P03", reply.Code == "25006": // a lock timeout; a standby
		return fmt.Errorf("%w: the server refuses for now: %w", lock.ErrUnavailable, err)
	case reply.Code == "3F000" || reply.Code == "42883":
		return fmt.Errorf("the lock functions are not there, or are older; Prepare makes them: %w", err)
	}
	return fmt.Errorf("the server refuses: %w", err)
}
