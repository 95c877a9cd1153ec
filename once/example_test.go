package once_test

import (
	"context"
	"errors"
	"fmt"

	"rushgate/once"
)

// A payment is made once, however often it is asked for.
func ExampleOnce_Do() {
	ctx := context.Background()
	store, _ := once.NewMemory(once.MemoryConfig{}) // once/redis and once/sql share it among nodes
	payments, _ := once.New(once.Config{Store: store})

	pay := func(ctx context.Context, a once.Attempt) ([]byte, error) {
		fmt.Println("the card is charged")
		return []byte("receipt 17"), nil
	}
	for range 3 {
		r, err := payments.Do(ctx, "order-17", pay)
		fmt.Printf("%s, replayed: %v, %v\n", r.Value, r.Replayed, err)
	}
	// Output:
	// the card is charged
	// receipt 17, replayed: false, <nil>
	// receipt 17, replayed: true, <nil>
	// receipt 17, replayed: true, <nil>
}

// The consumer of a queue tells three cases apart: done (by whomever), broken for
// ever, and everything else, which must be delivered again.
func ExampleOnce_Do_consumer() {
	ctx := context.Background()
	store, _ := once.NewMemory(once.MemoryConfig{})
	messages, _ := once.New(once.Config{Store: store})

	receive := func(id, body string) (acknowledge bool) {
		_, err := messages.Do(ctx, id, func(context.Context, once.Attempt) ([]byte, error) {
			if body == "" {
				return nil, once.Permanent(errors.New("the message is empty"))
			}
			fmt.Println("process", body)
			return nil, nil
		}, once.NoWait())
		return err == nil || errors.Is(err, once.ErrFailed) // never on ErrInProgress: whoever is at it may have died
	}
	fmt.Println(receive("m1", "hello"), receive("m1", "hello"), receive("m2", ""))
	// Output:
	// process hello
	// true true true
}

// One reward per person.
func ExampleMarks_First() {
	ctx := context.Background()
	store, _ := once.NewMemory(once.MemoryConfig{})
	marks, _ := once.NewMarks(store)

	for _, person := range []string{"ann", "bob", "ann"} {
		first, err := marks.First(ctx, "welcome-2026", person)
		fmt.Println(person, first, err)
	}
	n, _ := marks.Count(ctx, "welcome-2026")
	fmt.Println(n, "rewards")
	// Output:
	// ann true <nil>
	// bob true <nil>
	// ann false <nil>
	// 2 rewards
}

// Follow, unfollow, follow: the second click arrives last, and changes nothing.
func ExampleToggles_Apply() {
	ctx := context.Background()
	store, _ := once.NewMemory(once.MemoryConfig{})
	followers, _ := once.NewToggles(store)

	for _, click := range []once.Intent{
		{Member: "ann", On: true, Seq: 1},
		{Member: "ann", On: true, Seq: 3},
		{Member: "ann", On: false, Seq: 2}, // late
		{Member: "ann", On: true, Seq: 3},  // delivered twice
	} {
		s, _ := followers.Apply(ctx, "followers-of-bob", click)
		fmt.Println(s.Verdict, "on:", s.On, "changed:", s.Changed)
	}
	n, _ := followers.Count(ctx, "followers-of-bob")
	fmt.Println(n, "follower")
	// Output:
	// applied on: true changed: true
	// applied on: true changed: false
	// late on: true changed: false
	// repeated on: true changed: false
	// 1 follower
}
