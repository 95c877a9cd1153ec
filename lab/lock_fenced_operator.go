package lab

import "context"

// Restock is a write like any other: under the lock, behind the fence.
func (s *fencedSeller) Restock(ctx context.Context, units int) error {
	return s.operate(ctx, func() error { return s.redisShop.Restock(ctx, units) })
}

// Clear likewise.
func (s *fencedSeller) Clear(ctx context.Context) (left int, err error) {
	err = s.operate(ctx, func() error {
		left, err = s.redisShop.Clear(ctx)
		return err
	})
	return left, err
}

// operate waits for the lock as long as it takes, and shows the fence first.
// What comes after the fence is one step in Redis, so that it need not be
// fenced itself.
func (s *fencedSeller) operate(ctx context.Context, do func() error) error {
	for done := false; !done; {
		err := s.locked(ctx, "operator", func(fence uint64) error {
			left, err := s.left(ctx, fence)
			if err != nil || left < 0 {
				return err
			}
			done = true
			return do()
		})
		if err != nil {
			return err
		}
	}
	return nil
}
