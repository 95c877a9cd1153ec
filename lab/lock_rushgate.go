package lab

import (
	"context"
	_ "embed"
	"errors"
	"time"

	"github.com/redis/rueidis"

	"rushgate/lock"
	redislock "rushgate/lock/redis"
)

// lockRushgate locks with package lock: waiters are woken one after the other,
// the lock is renewed while its holder works, and its context ends when the lock
// is lost. None of that would help a seller that stands still. What does is the
// fence: a number that grows with every holder. The resource remembers the
// greatest it has seen and refuses smaller ones, so whoever wakes up late is
// refused by the stock itself.
//
// Both steps show the fence, the read, too: from then on no write of an earlier
// holder can come between the read and the write. It is the safe way to sell
// under a lock, and it is still one buyer at a time. What it guards is in Redis,
// and lasts as long as that: a failover to a replica that was behind takes back
// the last orders, and the fences that were shown with them.
func lockRushgate() Way {
	return Way{
		Name: "lock-rushgate", Family: Locks, Title: "our lock: renewed, reentrant, fenced writes",
		Why:   "Every holder has a greater number than the one before, and the stock refuses smaller ones: a seller that stood still is turned back at the door. All stand in one line and wait alike; where nobody does, a few get the lock again and again, and the others are turned away.",
		Needs: []Need{Redis},
		Promises: Promises{NeverOversells: true, OncePerUser: true, SurvivesPause: true,
			SurvivesCrash: true, ObeysAdmin: true},
		Open: func(_ context.Context, p Place) (Seller, error) { return openFenced(p) },
	}
}

// keyFence is the greatest fence that the stock has seen.
const keyFence = "rushgate-lab:fence"

// fencedWait is how long a buyer waits for the lock: about as long as one of
// Redlock tries. A holder that stands still for a second, as anybody does on a
// busy machine, is no reason to turn all away who stand behind it.
const fencedWait = 5 * time.Second

var (
	//go:embed lock_fenced_read.lua
	fencedReadLua string
	//go:embed lock_fenced_write.lua
	fencedWriteLua string
)

type fencedSeller struct {
	redisShop
	client      rueidis.Client
	locker      *lock.Locker
	read, write script
}

func openFenced(p Place) (Seller, error) {
	client, err := p.OpenRueidis(p.Redis[0])
	if err != nil {
		return nil, err
	}
	backend, err := redislock.New(client, redislock.Options{Prefix: "rushgate-lab:locks:"})
	if err != nil {
		client.Close()
		return nil, err
	}
	locker, err := lock.New(backend, lock.Options{Lease: p.Lease, MaxWait: fencedWait})
	if err != nil {
		client.Close()
		return nil, err
	}
	return &fencedSeller{redisShop: newRedisShop(p), client: client, locker: locker,
		read: newScript(fencedReadLua), write: newScript(fencedWriteLua)}, nil
}

// OpenRueidis connects to one of the place's Redis with the client of our locks.
func (p *Place) OpenRueidis(addr string) (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, Username: p.RedisUser, Password: p.RedisPassword,
		SelectDB: p.RedisDB, TLSConfig: p.redisTLS(), ForceSingleClient: true, DisableCache: true, DisableRetry: true})
}

// Buy locks, reads, and writes behind the fence.
func (s *fencedSeller) Buy(ctx context.Context, o Order) (answer Answer, err error) {
	answer = Contended
	err = s.locked(ctx, o.ID, func(fence uint64) error {
		left, err := s.left(ctx, fence)
		if err != nil || left < 0 {
			return err // refused at the fence: somebody else's turn
		}
		s.work.do(ctx)
		answer, err = s.write.answer(ctx, s.db, []string{keyFence, keyStock, keyUsers, keyOrders},
			fence, left, o.User, o.line(), int(Granted), int(SoldOut), int(Already), int(Contended))
		return err
	})
	return answer, err
}

// left reads the stock, and closes the fence behind all earlier holders.
func (s *fencedSeller) left(ctx context.Context, fence uint64) (int, error) {
	return s.read.Run(ctx, s.db, []string{keyFence, keyStock}, fence).Int()
}

// locked does something under the lock, or nothing if it cannot be had in time.
func (s *fencedSeller) locked(ctx context.Context, owner string, do func(fence uint64) error) error {
	held, err := s.locker.Lock(ctx, "stock", lock.As(owner))
	if errors.Is(err, lock.ErrTimeout) || errors.Is(err, lock.ErrLineFull) {
		return nil
	}
	if err != nil {
		return err
	}
	err = do(held.Fence())
	_ = held.Unlock(ctx) // what cannot be released ends with its lease, and the fence knows what came after
	return err
}

// Close gives back what is held.
func (s *fencedSeller) Close() error {
	err := errors.Join(s.locker.Close(), s.redisShop.Close())
	s.client.Close()
	return err
}
