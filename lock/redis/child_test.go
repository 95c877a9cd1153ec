package redis_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/redis/rueidis"

	"rushgate/lock"
	"rushgate/lock/locktest"
	"rushgate/lock/redis"
)

// childMain works in another process: see locktest.Work. where is a prefix and
// the address of a server, or those of a Redlock's.
func childMain(where string) int {
	words := strings.Fields(where)
	var servers []lock.Backend
	for _, addr := range words[1:] {
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true})
		if err != nil {
			return childFails(err)
		}
		defer client.Close()
		b, err := redis.New(client, redis.Options{Prefix: words[0]})
		if err != nil {
			return childFails(err)
		}
		servers = append(servers, b)
	}
	if len(servers) == 1 {
		return locktest.Work(servers[0])
	}
	majority, err := lock.NewRedlock(servers, lock.RedlockOptions{})
	if err != nil {
		return childFails(err)
	}
	defer majority.Close()
	return locktest.Work(majority)
}

func childFails(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}
