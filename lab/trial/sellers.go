package trial

import (
	"context"
	"errors"
	"os/exec"
	"sync"

	"rushgate/lab"
)

// sellers are the processes that sell together: two, where a way can be sold by
// several, otherwise one. Buyers stay with one of them, as behind a balancer.
type sellers struct {
	command func() *exec.Cmd
	what    Assignment

	mu  sync.Mutex
	all []*process // nil while one is being started again
}

// processes is how many sell, where more than one can.
const processes = 2

// openSellers starts the processes.
func openSellers(command func() *exec.Cmd, way lab.Way, place lab.Place) (*sellers, error) {
	s := &sellers{command: command, what: Assignment{Way: way.Name, Place: place}}
	n := processes
	if way.Solo {
		n = 1
	}
	for range n {
		p, err := startProcess(command, s.what)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.all = append(s.all, p)
	}
	return s, nil
}

// begin begins the sale at the first one, and tells the others.
func (s *sellers) begin(ctx context.Context, units int) error {
	if err := s.all[0].Begin(ctx, units); err != nil {
		return err
	}
	for _, p := range s.all[1:] {
		if err := p.Recover(ctx); err != nil {
			return err
		}
	}
	return nil
}

// at returns a process, or nil while it is being started.
func (s *sellers) at(i int) *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[i%len(s.all)]
}

// buy asks the process that serves a connection.
func (s *sellers) buy(ctx context.Context, connection int, o lab.Order) (lab.Answer, error) {
	if p := s.at(connection); p != nil {
		return p.Buy(ctx, o)
	}
	return 0, errGone
}

// crash kills a process and starts another one in its place.
func (s *sellers) crash(ctx context.Context, i int) error {
	s.at(i).kill()
	s.put(i, nil)
	p, err := startProcess(s.command, s.what)
	if err != nil {
		return err
	}
	if err := p.Recover(ctx); err != nil {
		p.kill()
		return err
	}
	s.put(i, p)
	return nil
}

func (s *sellers) put(i int, p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[i%len(s.all)] = p
}

// close ends all processes, in good order.
func (s *sellers) close() (err error) {
	for _, p := range s.all {
		if p != nil {
			err = errors.Join(err, p.Close())
		}
	}
	return err
}
