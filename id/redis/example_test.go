package redis_test

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"rushgate/id"
	"rushgate/id/redis"
)

func Example() {
	ctx := context.Background()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"127.0.0.1:6379"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	store, err := redis.New(client, redis.Options{Name: "orders"})
	if err != nil {
		fmt.Println(err)
		return
	}
	node, err := id.Join(ctx, store, id.NodeConfig{Layout: id.Standard(8)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer node.Close()
	fmt.Println(node.Next())
}
