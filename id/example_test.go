package id_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"rushgate/id"
)

// One node alone needs no store.
func Example() {
	ids, err := id.New(id.Config{Layout: id.Standard(0)})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, b := ids.Next(), ids.Next()
	fmt.Println(a < b, time.Since(ids.Layout().Time(a)) < time.Minute)
	// Output: true true
}

// Several nodes lease their numbers. Here the store is in memory; id/redis and
// id/sql have those for several processes.
func ExampleJoin() {
	store := id.NewMemory(nil)
	layout := id.Standard(8) // up to 256 nodes
	for range 2 {
		node, err := id.Join(context.Background(), store, id.NodeConfig{Layout: layout})
		if err != nil {
			fmt.Println(err) // for example id.ErrNoNumber: all are taken
			return
		}
		defer node.Close()
		next, err := node.Next()
		if errors.Is(err, id.ErrNoLease) {
			fmt.Println("the store has been away for longer than a lease:", err)
			return
		}
		fmt.Println("made by node", layout.Node(next))
	}
	// Output:
	// made by node 0
	// made by node 1
}

func ExampleLayout_Least() {
	layout := id.Standard(8)
	midnight := time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)
	fmt.Printf("SELECT … WHERE id >= %d AND id < %d\n", layout.Least(midnight), layout.Least(midnight.AddDate(0, 0, 1)))
	// Output: SELECT … WHERE id >= 378695319552000000 AND id < 379057707417600000
}

func ExampleID() {
	order := id.ID(378695319552003847)
	text, _ := json.Marshal(map[string]any{"order": order})
	fmt.Println(string(text))
	fmt.Println(order.Base32())
	back, err := id.ParseBase32("0agb5cc0003r7")
	fmt.Println(back, err)
	layout := id.Standard(8)
	fmt.Println(layout.Time(order).UTC(), "node", layout.Node(order))
	// Output:
	// {"order":"378695319552003847"}
	// 0AGB5CC0003R7
	// 378695319552003847 <nil>
	// 2026-11-11 00:00:00 +0000 UTC node 7
}

func ExampleUUIDs() {
	uuids := id.NewUUIDs(nil)
	a, b := uuids.Next(), uuids.Next()
	at, ok := a.Time()
	fmt.Println(a.Version(), a.String() < b.String(), ok, time.Since(at) < time.Minute)
	// Output: 7 true true true
}
