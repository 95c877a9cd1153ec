package lab

import (
	"context"
	"slices"
	"time"
)

// Way is one way to sell.
type Way struct {
	Name   string // as --strategy takes it: redis-incr
	Family Family
	Title  string // for a table: "INCR and compare, give back"
	Why    string // it holds or breaks, in a sentence or two
	Needs  []Need
	Promises
	// Solo: only one process may sell this way at a time.
	Solo bool
	// Durable: what buyers were told is on the disk, and survives a power cut.
	Durable bool

	// Open opens the way at a place. Many goroutines buy from what it returns.
	Open func(context.Context, Place) (Seller, error)
}

// Promises are what a way keeps. The suite of this package sees that it does
// keep those, and that it breaks all others: a lab in which a broken way holds
// is too weak.
type Promises struct {
	// NeverOversells, in a rush in which nothing goes wrong.
	NeverOversells bool `json:"never_oversells"`
	// OncePerUser: who asks twice at the same moment gets one.
	OncePerUser bool `json:"once_per_user"`
	// SurvivesPause: not oversold either when a seller stands still for a while,
	// as in a garbage collection, a live migration or a swap, and then goes on.
	SurvivesPause bool `json:"survives_pause"`
	// SurvivesCrash: a seller that is killed in the middle takes neither orders
	// nor units with it.
	SurvivesCrash bool `json:"survives_crash"`
	// SurvivesFailover: a Redis that fails over to a replica, which has not heard
	// the last of it, takes no orders with it, and sells nothing twice. For ways that
	// sell in Redis.
	SurvivesFailover bool `json:"survives_failover"`
	// ObeysAdmin: stock that an operator adds or clears during the rush is what
	// is sold, exactly.
	ObeysAdmin bool `json:"obeys_admin"`
}

// Family is a kind of ways.
type Family string

// The families, in the order in which they are shown.
const (
	Counters Family = "Redis counters"
	Locks    Family = "locks around read-modify-write"
	SQL      Family = "SQL"
	Ours     Family = "Rushgate"
)

// Need is a server that a way needs.
type Need string

// The servers.
const (
	Redis      Need = "redis"
	ThreeRedis Need = "three redis" // independent masters
	PostgreSQL Need = "postgresql"
	MariaDB    Need = "mariadb"
)

// InRedis says that the way needs a Redis.
func (w *Way) InRedis() bool {
	return slices.ContainsFunc(w.Needs, func(n Need) bool { return n == Redis || n == ThreeRedis })
}

// Place is where a way sells. What it needs is there; what it left there from
// an earlier sale is not.
type Place struct {
	Redis         []string `json:"redis"` // host:port; the first one is the one that sells
	RedisUser     string   `json:"redis_user"`
	RedisPassword string   `json:"redis_password"`
	RedisDB       int      `json:"redis_db"`
	RedisTLS      bool     `json:"redis_tls"`
	Prefix        string   `json:"prefix"`   // of keys in Redis that are not the lab's own
	Postgres      string   `json:"postgres"` // postgres://…
	MariaDB       string   `json:"mariadb"`  // mysql://…
	Folder        string   `json:"folder"`   // for files of the sale
	// Lease is how long locks and tokens are kept for a seller that says nothing
	// more.
	Lease time.Duration `json:"lease"`
	// Connections is how many buyers are served at the same time.
	Connections int `json:"connections"`
	// Work is how long a seller takes between two steps that are not one: when it
	// has read what is left, and half as long when it has deducted and makes out
	// the order.
	Work time.Duration `json:"work"`
}

// Order is one buyer's wish for one unit. Its id is the buyer's: whoever asks
// again after a lost answer asks with the same one.
type Order struct {
	ID   string
	User string
}

// Answer is what a buyer hears.
type Answer int

// The answers.
const (
	_         Answer = iota
	Granted          // it is yours
	SoldOut          // there is none left
	Already          // you have one
	Contended        // somebody else was faster: there may be more
)

// Seller is one seller of one item. Buy is called by many goroutines at once,
// and in other processes, too.
type Seller interface {
	// Begin begins a sale: nobody has any, and so many units are there.
	Begin(ctx context.Context, units int) error
	// Buy answers one buyer. With an error nobody knows what happened.
	Buy(context.Context, Order) (Answer, error)
	// Recover is called when a seller was started again in the middle of a sale.
	Recover(context.Context) error

	// Restock adds units, as the operator of such a shop would.
	Restock(ctx context.Context, units int) error
	// Clear takes back whatever is left, and returns how many units that were.
	// When it has returned, nothing more is to be sold.
	Clear(context.Context) (units int, err error)

	// Left returns the units that are left, by the books of the way.
	Left(context.Context) (int, error)
	// Orders returns who has a unit, by the books of the way.
	Orders(context.Context) ([]Order, error)

	Close() error
}
