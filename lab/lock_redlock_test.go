package lab_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rushgate/lab"
)

// TestRedlockInACrowd: who retries as the page of Redlock says gets the lock in
// the end, also when many want it. A Redlock that nobody can have would be a straw
// man. (Most, that is: on a machine that stands still, tries are used up.)
func TestRedlockInACrowd(t *testing.T) {
	place := lab.Place{Lease: time.Minute, Connections: 64}
	for _, r := range redisServers {
		place.Redis = append(place.Redis, r.Server(t).Addr)
	}
	ways, err := lab.Choose([]string{"lock-redlock"})
	if err != nil {
		t.Fatal(err)
	}
	seller := open(t, ways[0], place)
	defer seller.Close()
	const each = 10
	if err := seller.Begin(t.Context(), place.Connections*each); err != nil {
		t.Fatal(err)
	}
	var granted atomic.Int64
	var all sync.WaitGroup
	for i := range place.Connections {
		all.Go(func() {
			for n := range each {
				user := "u" + strconv.Itoa(i*each+n)
				if answer, err := seller.Buy(t.Context(), lab.Order{ID: user, User: user}); err != nil {
					t.Error(err)
				} else if answer == lab.Granted {
					granted.Add(1)
				}
			}
		})
	}
	all.Wait()
	if n, of := granted.Load(), int64(place.Connections*each); n < of/2 {
		t.Errorf("%d of %d got the lock", n, of)
	}
}
