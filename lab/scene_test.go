package lab_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"rushgate/lab"
)

// scene is one sale with two sellers: one who is interrupted, and the other.
type scene struct {
	t          *testing.T
	way        lab.Way
	step       int // requests that the first seller makes before the interruption
	moment     time.Duration
	turnstiles []*turnstile
	first      lab.Seller
	other      *other

	total    int
	exact    bool // nothing may be stranded either
	once     bool // nobody may have two
	complete bool // the first seller was done before the interruption
	vain     bool // it gave up before the interruption: to be played again

	contended bool // the first seller has turned its buyer away
	standing  bool // the first seller stands still, and goes on later

	mu     sync.Mutex
	heard  []lab.Order // who heard that they have one
	faults []string
}

// generous bounds what only hangs when something is wrong.
const generous = 20 * time.Second

// aMoment is long for a request and short for a person.
const aMoment = 60 * time.Millisecond

func newScene(t *testing.T, w lab.Way, lease time.Duration, step, round int) *scene {
	t.Helper()
	// On a machine that is busy a moment is too short for what it takes to see a
	// fault, which then hides in this round: it is longer in the next.
	s := &scene{t: t, way: w, step: step, moment: time.Duration(round+1) * aMoment}
	place := lab.Place{Folder: t.TempDir(), Lease: lease, Connections: 4, Postgres: database(t, w, lab.PostgreSQL), MariaDB: database(t, w, lab.MariaDB)}
	for _, r := range redisServers {
		if w.Family == lab.Counters || w.Family == lab.Locks {
			place.Redis = append(place.Redis, r.Server(t).Addr)
		}
	}
	s.other = &other{scene: s, Seller: open(t, w, place)}
	behind := place
	behind.Redis = nil
	for _, addr := range place.Redis {
		behind.Redis = append(behind.Redis, s.turnstile(addr))
	}
	behind.Postgres, behind.MariaDB = s.url(place.Postgres), s.url(place.MariaDB)
	behind.Connections = 1
	s.first = open(t, w, behind)
	return s
}

// database returns the database of a way, the same one for all its scenes.
func database(t *testing.T, w lab.Way, need lab.Need) string {
	t.Helper()
	if !slices.Contains(w.Needs, need) {
		return ""
	}
	if need == lab.PostgreSQL {
		return postgres.Server(t).URL("postgres")
	}
	server := mariadb.Server(t)
	if _, err := server.SQL("", "CREATE DATABASE IF NOT EXISTS lab"); err != nil {
		t.Fatal(err)
	}
	return server.URL("lab")
}

func open(t *testing.T, w lab.Way, p lab.Place) lab.Seller {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), generous)
	defer cancel()
	seller, err := w.Open(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	return seller
}

func (s *scene) turnstile(addr string) string {
	one := newTurnstile(s.t, addr)
	s.turnstiles = append(s.turnstiles, one)
	return one.addr
}

// url puts a turnstile in front of a database.
func (s *scene) url(address string) string {
	if address == "" {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil {
		s.t.Fatal(err)
	}
	u.Host = s.turnstile(u.Host)
	return u.String()
}

// begin begins the sale. The first seller has made its connections then.
func (s *scene) begin(units int) {
	s.t.Helper()
	s.total = units
	ctx, cancel := context.WithTimeout(s.t.Context(), generous)
	defer cancel()
	if err := s.other.Begin(ctx, units); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.first.Left(ctx); err != nil {
		s.t.Fatal(err)
	}
}

// interrupted lets u1 buy from the first seller, who stands still before one of
// the requests while something else happens, and then goes on.
func (s *scene) interrupted(meanwhile func()) {
	done := s.start()
	s.standing = true
	meanwhile()
	s.standing = false
	for _, t := range s.turnstiles {
		t.release()
	}
	<-done
}

// killed lets u1 buy from the first seller, who is never heard of again.
func (s *scene) killed() {
	done := s.start()
	for _, t := range s.turnstiles {
		t.die()
	}
	<-done
}

// start lets the first seller make its requests up to the interruption, and
// returns what is closed when it is done.
func (s *scene) start() <-chan struct{} {
	stuck := make(chan struct{})
	var once sync.Once
	for _, t := range s.turnstiles {
		t.only(s.step, func() { once.Do(func() { close(stuck) }) })
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), generous)
		defer cancel()
		o := lab.Order{ID: "u1-1", User: "u1"}
		answer, err := s.first.Buy(ctx, o)
		if err == nil && answer == lab.Granted {
			s.hear(o)
		}
		s.contended = err != nil || answer == lab.Contended
	}()
	select {
	case <-stuck:
	case <-done:
		s.complete, s.vain = !s.contended, s.contended
	}
	return done
}

// beside does something that may have to wait for the interrupted seller: it has
// a moment for itself, and time enough when that one goes on.
func (s *scene) beside(do func()) {
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(s.moment):
	}
	s.other.busy = done
}

// patience is how long somebody tries while the first seller stands still: what a
// transaction has locked stays so, all other locks have leases.
func (s *scene) patience() time.Duration {
	if s.way.Family == lab.SQL {
		return 3 * s.moment
	}
	return generous
}

func (s *scene) hear(o lab.Order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, o)
}

func (s *scene) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf("interrupted before request %d: ", s.step+1)+fmt.Sprintf(format, args...))
}

// audit holds what was heard against the books.
func (s *scene) audit() {
	s.t.Helper()
	s.other.wait()
	ctx, cancel := context.WithTimeout(s.t.Context(), generous)
	defer cancel()
	orders, err := s.other.Orders(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	left, err := s.other.Left(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	sold := slices.Clone(orders)
	for _, h := range s.heard {
		if !slices.Contains(orders, h) {
			s.fault("%s was granted and is not in the books", h.ID)
			sold = append(sold, h)
		}
	}
	if len(sold) > s.total {
		s.fault("sold %d of %d: %v", len(sold), s.total, sold)
	}
	if s.exact && len(sold)+left != s.total {
		s.fault("%d sold and %d left of %d", len(sold), left, s.total)
	}
	users := map[string]int{}
	for _, o := range sold {
		if users[o.User]++; s.once && users[o.User] == 2 {
			s.fault("%s has two", o.User)
		}
	}
}

func (s *scene) close() {
	for _, t := range s.turnstiles {
		t.release()
	}
	if err := s.first.Close(); err != nil && !s.dead() {
		s.t.Error(err)
	}
	if err := s.other.Close(); err != nil {
		s.t.Error(err)
	}
}

func (s *scene) dead() bool {
	return slices.ContainsFunc(s.turnstiles, func(t *turnstile) bool { t.mu.Lock(); defer t.mu.Unlock(); return t.cut })
}

// other is the seller whom nobody interrupts.
type other struct {
	lab.Seller
	scene *scene
	busy  <-chan struct{} // closed when what was begun beside the first seller is done
}

// buy asks once. A request that waits for the interrupted seller is given up; no
// other is, however slow: its server would go on with it beside the next one.
func (o *other) buy(user string) lab.Answer {
	return o.order(lab.Order{ID: user + "-1", User: user})
}

func (o *other) order(order lab.Order) lab.Answer {
	o.wait()
	patience := generous
	if o.scene.standing {
		patience = 3 * o.scene.moment
	}
	ctx, cancel := context.WithTimeout(o.scene.t.Context(), patience)
	defer cancel()
	answer, err := o.Buy(ctx, order)
	if err != nil {
		return 0
	}
	if answer == lab.Granted {
		o.scene.hear(order)
	}
	return answer
}

// buyUntil asks until there is an answer that is one.
func (o *other) buyUntil(user string, within time.Duration) {
	for end := time.Now().Add(within); time.Now().Before(end); {
		if answer := o.buy(user); answer != 0 && answer != lab.Contended {
			return
		}
	}
}

// wait waits for what was begun beside the first seller.
func (o *other) wait() {
	if o.busy != nil {
		<-o.busy
	}
}

func (o *other) clear() int {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(o.scene.t.Context()), generous)
	defer cancel()
	n, err := o.Clear(ctx)
	if err != nil {
		o.scene.fault("clear: %v", err)
	}
	return n
}

func (o *other) restock(units int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(o.scene.t.Context()), generous)
	defer cancel()
	if err := o.Restock(ctx, units); err != nil {
		o.scene.fault("restock: %v", err)
	}
}
