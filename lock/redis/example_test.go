package redis_test

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"rushgate/lock"
	"rushgate/lock/redis"
)

func Example() {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"127.0.0.1:6379"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	backend, err := redis.New(client, redis.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	locker, err := lock.New(backend, lock.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer locker.Close()
	h, err := locker.Lock(context.Background(), "report:2031")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Unlock(context.Background())
	fmt.Println("fence", h.Fence())
}

// Three servers that know nothing of each other; the loss of one is survived.
func Example_redlock() {
	var servers []lock.Backend
	for _, addr := range []string{"a:6379", "b:6379", "c:6379"} {
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
		if err != nil {
			fmt.Println(err) // it may be the one that is away: see rueidis on lazy clients
			return
		}
		defer client.Close()
		backend, err := redis.New(client, redis.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		servers = append(servers, backend)
	}
	majority, err := lock.NewRedlock(servers, lock.RedlockOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer majority.Close()
	locker, err := lock.New(majority, lock.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer locker.Close()
	fmt.Println(locker.TryLock(context.Background(), "report:2031"))
}
