package redis_test

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"rushgate/once"
	"rushgate/once/redis"
)

// Any number of nodes agree through one Redis.
func Example() {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"localhost:6379"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	store, err := redis.New(client, redis.Options{Prefix: "shop:once:", Marks: redis.Hash})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	payments, _ := once.New(once.Config{Store: store})
	rewards, _ := once.NewMarks(store)

	ctx := context.Background()
	r, err := payments.Do(ctx, "order-17", func(ctx context.Context, a once.Attempt) ([]byte, error) {
		return []byte("receipt 17"), nil // charge the card, with a.Key as the provider's idempotency key
	})
	fmt.Println(string(r.Value), err)
	first, err := rewards.FirstBy(ctx, "welcome-2026", "ann", "message-5") // true again when message-5 is delivered again
	fmt.Println(first, err)
}
