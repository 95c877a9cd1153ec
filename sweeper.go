package rushgate

import (
	"context"
	"errors"
	"time"
)

// sweepLimit bounds one look of the sweeper: a batch of expiries must not keep
// buyers waiting.
const sweepLimit = 500

// sweep gives the units of expired claims back, until ctx ends.
func (s *Service) sweep(ctx context.Context, cfg Config) {
	tick := time.NewTicker(cfg.SweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.desk.failed:
			return
		case <-tick.C:
			if !cfg.Chores() {
				continue
			}
			if _, err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
				s.log.Warn("expired claims could not be swept; trying again", "error", err)
			}
		}
	}
}

// Sweep expires every claim whose time is over now, and returns how many. The
// service does it by itself; a program that brings its own clock may want to.
func (s *Service) Sweep(ctx context.Context) (int, error) {
	swept := 0
	for {
		due, err := s.ledger.Expired(ctx, s.now(), sweepLimit)
		if err != nil {
			return swept, s.asError(err)
		}
		moved, err := s.expire(ctx, due)
		swept += moved
		s.observe.Swept(moved)
		if err != nil || len(due) < sweepLimit || moved == 0 {
			return swept, err
		}
	}
}

// expire ends claims. One sale that cannot be written must not keep the units
// of the others.
func (s *Service) expire(ctx context.Context, due []Claim) (moved int, err error) {
	for sale, ids := range bySale(due) {
		m, failed := s.desk.move(ctx, sale, ExpiredState, ids...)
		moved += len(m)
		err = errors.Join(err, failed)
	}
	return moved, err
}

func bySale(claims []Claim) map[string][]ID {
	ids := map[string][]ID{}
	for i := range claims {
		ids[claims[i].Sale] = append(ids[claims[i].Sale], claims[i].ID)
	}
	return ids
}
