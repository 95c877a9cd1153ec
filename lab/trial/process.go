package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"syscall"
	"time"

	"rushgate/lab"
)

// Assignment is what a process is to sell. It is given as JSON in the variable
// AssignmentEnv of its environment.
type Assignment struct {
	Way   string    `json:"way"`
	Place lab.Place `json:"place"`
}

// AssignmentEnv names the variable: a process that finds it calls Sell and does
// nothing else.
const AssignmentEnv = "RUSHGATE_LAB_ASSIGNMENT"

// Sell is the whole life of a process that sells: it opens the way it was
// assigned and answers requests on its standard input until that is closed.
func Sell(ctx context.Context, assignment string, in io.Reader, out io.Writer) error {
	var a Assignment
	if err := json.Unmarshal([]byte(assignment), &a); err != nil {
		return fmt.Errorf("%s: %w", AssignmentEnv, err)
	}
	way, err := find(a.Way)
	if err != nil {
		return err
	}
	seller, err := way.Open(ctx, a.Place)
	if err != nil {
		return err
	}
	server := rpc.NewServer()
	if err := server.RegisterName(counter, &Counter{seller}); err != nil {
		return err
	}
	server.ServeConn(pipe{Reader: in, Writer: out})
	return seller.Close()
}

func find(name string) (lab.Way, error) {
	for _, w := range lab.All() {
		if w.Name == name {
			return w, nil
		}
	}
	return lab.Way{}, fmt.Errorf("there is no way called %q", name)
}

// pipe is a process's input and output.
type pipe struct {
	io.Reader
	io.Writer
	closers []io.Closer
}

// Close closes what can be closed.
func (p pipe) Close() (err error) {
	for _, c := range p.closers {
		err = errors.Join(err, c.Close())
	}
	return err
}

// counter is the name of what a process offers.
const counter = "Counter"

// Counter is a seller behind a pipe, in the form that net/rpc wants.
type Counter struct{ seller lab.Seller }

// answerWithin bounds one request in the process that sells.
const answerWithin = MaxDuration

func within(do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	return do(ctx)
}

// Begin begins a sale.
func (c *Counter) Begin(units int, _ *struct{}) error {
	return within(func(ctx context.Context) error { return c.seller.Begin(ctx, units) })
}

// Buy answers one buyer.
func (c *Counter) Buy(o lab.Order, answer *lab.Answer) error {
	return within(func(ctx context.Context) (err error) { *answer, err = c.seller.Buy(ctx, o); return err })
}

// Recover goes on after a crash.
func (c *Counter) Recover(struct{}, *struct{}) error { return within(c.seller.Recover) }

// Restock adds units.
func (c *Counter) Restock(units int, _ *struct{}) error {
	return within(func(ctx context.Context) error { return c.seller.Restock(ctx, units) })
}

// Clear takes back what is left.
func (c *Counter) Clear(_ struct{}, units *int) error {
	return within(func(ctx context.Context) (err error) { *units, err = c.seller.Clear(ctx); return err })
}

// Left tells what is left.
func (c *Counter) Left(_ struct{}, units *int) error {
	return within(func(ctx context.Context) (err error) { *units, err = c.seller.Left(ctx); return err })
}

// Orders tells who has one.
func (c *Counter) Orders(_ struct{}, orders *[]lab.Order) error {
	return within(func(ctx context.Context) (err error) { *orders, err = c.seller.Orders(ctx); return err })
}

// process is a lab.Seller that is another process.
type process struct {
	cmd    *exec.Cmd
	client *rpc.Client
	stderr *said
}

// startWithin bounds the start of a process, with all that it opens.
const startWithin = 20 * time.Second

// startProcess starts a process that sells. Command makes one that will call Sell.
func startProcess(command func() *exec.Cmd, a Assignment) (*process, error) {
	assignment, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: command(), stderr: &said{}}
	p.cmd.Env = append(os.Environ(), AssignmentEnv+"="+string(assignment))
	p.cmd.Stderr = p.stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a seller: %w", err)
	}
	p.client = rpc.NewClient(pipe{Reader: out, Writer: in, closers: []io.Closer{in, out}})
	return p, nil
}

// call calls a method, and comes back when ctx ends.
func (p *process) call(ctx context.Context, method string, args, reply any) error {
	call := p.client.Go(counter+"."+method, args, reply, make(chan *rpc.Call, 1))
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-call.Done:
		if errors.Is(call.Error, rpc.ErrShutdown) || errors.Is(call.Error, io.ErrUnexpectedEOF) {
			return errors.Join(errGone, p.stderr.error())
		}
		return call.Error
	}
}

var errGone = errors.New("the seller's process has ended")

func (p *process) Begin(ctx context.Context, units int) error {
	return p.call(ctx, "Begin", units, &struct{}{})
}

func (p *process) Buy(ctx context.Context, o lab.Order) (lab.Answer, error) {
	answer := new(lab.Answer) // of this call alone: a late reply writes to it
	if err := p.call(ctx, "Buy", o, answer); err != nil {
		return 0, err
	}
	return *answer, nil
}

func (p *process) Recover(ctx context.Context) error {
	return p.call(ctx, "Recover", struct{}{}, &struct{}{})
}

func (p *process) Restock(ctx context.Context, units int) error {
	return p.call(ctx, "Restock", units, &struct{}{})
}

func (p *process) Clear(ctx context.Context) (int, error) {
	return result[int](ctx, p, "Clear")
}

func (p *process) Left(ctx context.Context) (int, error) {
	return result[int](ctx, p, "Left")
}

func (p *process) Orders(ctx context.Context) ([]lab.Order, error) {
	return result[[]lab.Order](ctx, p, "Orders")
}

// result calls a method that takes nothing.
func result[R any](ctx context.Context, p *process, method string) (R, error) {
	reply := new(R)
	if err := p.call(ctx, method, struct{}{}, reply); err != nil {
		var none R
		return none, err
	}
	return *reply, nil
}

// kill ends the process without a chance to do anything more.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.client.Close()
	_ = p.cmd.Wait()
}

// stop and resume make the process stand still, and go on.
func (p *process) stop() error   { return p.cmd.Process.Signal(syscall.SIGSTOP) }
func (p *process) resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

// Close lets the process end by itself, for a while.
func (p *process) Close() error {
	_ = p.client.Close() // its input ends
	killer := time.AfterFunc(startWithin, func() { _ = p.cmd.Process.Kill() })
	defer killer.Stop()
	if err := p.cmd.Wait(); err != nil {
		return errors.Join(fmt.Errorf("the end of a seller's process: %w", err), p.stderr.error())
	}
	return nil
}
