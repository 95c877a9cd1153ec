package lock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"rushgate/lock"
)

func Example() {
	ctx := context.Background()
	locker, err := lock.New(lock.NewMemory(), lock.Options{Lease: 5 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer locker.Close()

	h, err := locker.Lock(ctx, "report:2031")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("held:", h.Valid())

	_, err = locker.TryLock(ctx, "report:2031")
	fmt.Println("somebody else:", errors.Is(err, lock.ErrHeld))

	fmt.Println("given back:", h.Unlock(ctx) == nil)
	fmt.Println(context.Cause(h.Context()))
	// Output:
	// held: true
	// somebody else: true
	// given back: true
	// was unlocked
}

// A writer that checks the fence refuses whoever is late, however late.
func ExampleHeld_Fence() {
	save := func(ctx context.Context, db *sql.DB, locker *lock.Locker, id int64, body string) error {
		h, err := locker.Lock(ctx, fmt.Sprint("report:", id))
		if err != nil {
			return err
		}
		defer h.Unlock(context.WithoutCancel(ctx))
		done, err := db.ExecContext(h.Context(),
			`UPDATE report SET body = $2, fence = $1 WHERE id = $3 AND fence <= $1`, h.Fence(), body, id)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, lock.ErrLost) // a later holder was here already
		}
		return nil
	}
	_ = save
}

func ExampleLocker_Acquire() {
	ctx := context.Background()
	locker, _ := lock.New(lock.NewMemory(), lock.Options{})
	defer locker.Close()
	first, _ := locker.Acquire(ctx, "slow-service", 2, 3) // two of three
	_, err := locker.TryAcquire(ctx, "slow-service", 2, 3)
	fmt.Println("two more:", errors.Is(err, lock.ErrHeld))
	_, err = locker.TryAcquire(ctx, "slow-service", 1, 3)
	fmt.Println("one more:", err)
	_ = first.Unlock(ctx)
	// Output:
	// two more: true
	// one more: <nil>
}

func ExampleLocker_RLock() {
	ctx := context.Background()
	locker, _ := lock.New(lock.NewMemory(), lock.Options{})
	defer locker.Close()
	_, err1 := locker.RLock(ctx, "prices")
	_, err2 := locker.RLock(ctx, "prices")
	_, err := locker.TryLock(ctx, "prices")
	fmt.Println(err1, err2, errors.Is(err, lock.ErrHeld))
	// Output: <nil> <nil> true
}

func ExampleLocker_LockAll() {
	ctx := context.Background()
	locker, _ := lock.New(lock.NewMemory(), lock.Options{})
	defer locker.Close()
	accounts, err := locker.LockAll(ctx, []string{"account:7", "account:3"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer accounts.Unlock(ctx)
	fmt.Println(accounts.Valid(), accounts.Held("account:3").Key())
	// Output: true account:3
}

// The same owner gets what it has, and gives it back as often.
func ExampleAs() {
	ctx := context.Background()
	locker, _ := lock.New(lock.NewMemory(), lock.Options{})
	defer locker.Close()
	outer, _ := locker.Lock(ctx, "order:9", lock.As("job-17"))
	inner, _ := locker.Lock(ctx, "order:9", lock.As("job-17"))
	fmt.Println("the same fence:", outer.Fence() == inner.Fence())
	_ = inner.Unlock(ctx)
	_, err := locker.TryLock(ctx, "order:9")
	fmt.Println("still held:", errors.Is(err, lock.ErrHeld))
	_ = outer.Unlock(ctx)
	// Output:
	// the same fence: true
	// still held: true
}
