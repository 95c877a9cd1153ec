package redis_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"rushgate/limit"
	"rushgate/limit/redis"
)

func Example() {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"127.0.0.1:6379"}, DisableCache: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	perUser, err := redis.New(client, limit.Rule{Name: "user", Policy: limit.GCRA(limit.PerSecond(10), 20)}, redis.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := perUser.Take(context.Background(), "ann", 1)
	switch {
	case errors.Is(err, limit.ErrUnavailable):
		fmt.Println("Redis is away: pass or refuse, as you like")
	case err != nil:
		fmt.Println(err)
	case !r.Granted:
		fmt.Println("come back in", r.RetryAfter)
	}
}

// Three rules in one round trip, all or none.
func ExampleNewJoint() {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"127.0.0.1:6379"}, DisableCache: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	orders, err := redis.NewJoint(client, []limit.Rule{
		{Name: "user", Policy: limit.SlidingWindow(5, time.Minute)},
		{Name: "address", Policy: limit.GCRA(limit.PerMinute(100), 50)},
		{Name: "all", Policy: limit.GCRA(limit.PerSecond(5000), 10_000)},
	}, redis.Options{Slot: "orders"})
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := orders.Take(context.Background(), []limit.Ask{{Key: "ann", N: 1}, {Key: "192.0.2.7", N: 1}, {Key: "all", N: 1}})
	if err == nil && !v.Granted {
		fmt.Println("come back in", v.RetryAfter)
	}
}
