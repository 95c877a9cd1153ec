package redis_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"rushgate/once/oncetest"
	"rushgate/once/redis"
)

// childMain works in another process: see oncetest.Work.
func childMain(where string) int {
	addr, prefix, _ := strings.Cut(where, " ")
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer client.Close()
	s, err := redis.New(client, redis.Options{Prefix: prefix})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer s.Close()
	return oncetest.Work(s)
}

func TestCrashes(t *testing.T) {
	o := redis.Options{Prefix: prefix()}
	addr := server.Server(t).Addr
	oncetest.RunCrashes(t, addr+" "+o.Prefix, open(t, addr, o))
}
