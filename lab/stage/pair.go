package stage

import (
	"fmt"

	"rushgate/internal/testenv"
	"rushgate/lab/trial"
)

// Replicate starts a Redis with a replica, for one sale.
func (s *Stage) Replicate() (trial.Pair, error) {
	s.pairs++
	dir, err := s.folder(fmt.Sprintf("pair%d", s.pairs))
	if err != nil {
		return nil, err
	}
	p, err := testenv.StartRedisPair(dir)
	if err != nil {
		return nil, fmt.Errorf("a Redis with a replica: %w", err)
	}
	return pair{p}, nil
}

type pair struct{ *testenv.PairGroup }

// Address returns where the master is, always.
func (p pair) Address() string { return p.Addr }
