package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"rushgate/bench/load"
	"rushgate/client"
)

// benchCmd lets a crowd in on a server that runs, and measures.
type benchCmd struct {
	remote      `embed:""`
	Sale        string        `placeholder:"SALE" help:"Id of the sale. Default: one is made for the measurement, and closed at its end."`
	Item        string        `placeholder:"ITEM" help:"Item of the sale, if it has several."`
	Stock       int64         `default:"10000000" help:"Units of the sale that is made."`
	BackendKey  string        `env:"RUSHGATE_BACKEND_KEY" placeholder:"KEY" help:"API key, for a server with --identity backend."`
	Mode        string        `default:"open" enum:"open,closed" help:"open: so many requests a second, whatever comes back; for latency. closed: each connection sends when its answer has come; for the maximum."`
	Rate        float64       `default:"1000" help:"Requests a second, in open mode."`
	Even        bool          `help:"Even gaps between the requests, in open mode. Default: random ones, as of independent buyers."`
	Duration    time.Duration `default:"10s" help:"How long requests are sent."`
	Warmup      time.Duration `placeholder:"TIME" help:"Part of it, at the beginning, that is not measured. Default: a tenth."`
	Requests    int64         `placeholder:"N" help:"End after so many requests. Default: when the time is over."`
	Connections int           `default:"64" help:"Open connections."`
	Batch       int           `default:"1" help:"Claims in a request; above 1 the batch endpoint is used, with the admin token or the API key."`
	Users       string        `default:"seq" enum:"seq,random" help:"Names of the users, each of whom asks once: in order, or from everywhere."`
	JSON        bool          `name:"json" help:"Print JSON instead of a table."`
}

// Help teaches.
func (*benchCmd) Help() string {
	return `Every request is one of a different user. Latency is measured from the moment at which a request was due, so that
a stall of the server is charged to everybody whom it kept waiting. Accepted, refused and recorded are told apart.
The exit status is 0 only if everything that was acknowledged in a sale of its own was recorded, and no more.

  rushgate bench --rate 5000 --duration 30s
  rushgate bench --mode closed --connections 256
  rushgate bench --sale phones --rate 20000 --json

On the server's own machine it shares the processors with it: what it measures is then both together.`
}

// measurement is what the command prints.
type measurement struct {
	Server     string       `json:"server"`
	Sale       string       `json:"sale"`
	Durability string       `json:"durability"` // the sale's level of acknowledgement
	Hardware   string       `json:"hardware"`   // of the machine that sends
	Recorded   int64        `json:"recorded"`   // units held and confirmed at the end, less those at the beginning
	Load       *load.Report `json:"load"`
}

// Run measures.
func (b *benchCmd) Run(ctx context.Context, w world) error {
	plan, err := b.plan()
	if err != nil {
		return err
	}
	if err := plan.Validate(); err != nil {
		return err
	}
	c, err := b.operator()
	if err != nil {
		return err
	}
	defer c.Close()
	sale, err := b.sale(ctx, c)
	if err != nil {
		return b.explain(err)
	}
	m, err := b.measure(ctx, c, sale, plan)
	if b.Sale == "" {
		// Also when the measurement was interrupted: nobody should buy there.
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_, closeErr := c.CloseSale(closing, sale.ID)
		err = errors.Join(err, closeErr)
	}
	if err != nil {
		return b.explain(err)
	}
	if b.JSON {
		err = writeJSON(w.out, m)
	} else {
		err = m.write(w.out)
	}
	return errors.Join(err, b.verdict(m))
}

// sale finds the sale, or makes one.
func (b *benchCmd) sale(ctx context.Context, c *client.Client) (*client.Sale, error) {
	if b.Sale != "" {
		return c.GetSale(ctx, b.Sale)
	}
	return c.CreateSale(ctx, client.Sale{ID: fmt.Sprintf("bench-%d", time.Now().UnixMilli()), Name: "rushgate bench",
		PerUser: 1, Hold: "0", Items: []client.Item{{ID: "unit", Stock: b.Stock}}})
}

func (b *benchCmd) measure(ctx context.Context, c *client.Client, sale *client.Sale, plan load.Plan) (*measurement, error) {
	before, err := taken(ctx, c, sale.ID)
	if err != nil {
		return nil, err
	}
	plan.Sale = sale.ID
	report, err := load.Run(ctx, plan)
	if err != nil {
		return nil, err
	}
	// What was sent is counted even when the command was interrupted.
	after, err := taken(context.WithoutCancel(ctx), c, sale.ID)
	if err != nil {
		return nil, err
	}
	return &measurement{Server: b.Server, Sale: sale.ID, Durability: sale.Ack, Hardware: load.Hardware(),
		Recorded: after - before, Load: report}, nil
}

func (b *benchCmd) plan() (p load.Plan, err error) {
	p = load.Plan{Server: b.Server, Sale: "to-be-made", Item: b.Item, Token: b.BackendKey, Mode: load.Mode(b.Mode), Rate: b.Rate, Poisson: !b.Even,
		Duration: b.Duration, Warmup: b.Warmup, Requests: b.Requests, Connections: b.Connections,
		PerRequest: b.Batch, Names: load.Names(b.Users), Seed: uint64(time.Now().UnixNano())}
	if b.Warmup == 0 {
		p.Warmup = b.Duration / 10
	}
	if p.Token == "" && b.Batch > 1 {
		p.Token, err = b.token()
	}
	return p, err
}

// taken returns the units of a sale that are held or confirmed.
func taken(ctx context.Context, c *client.Client, sale string) (int64, error) {
	stock, _, err := c.Stock(ctx, sale)
	var n int64
	for _, s := range stock {
		n += s.Held + s.Confirmed
	}
	return n, err
}

// verdict fails when a sale that nobody else knew did not record exactly what
// it acknowledged. Requests without an answer may have been granted.
func (b *benchCmd) verdict(m *measurement) error {
	acknowledged := m.Load.All.Accepted
	if b.Sale != "" || m.Recorded >= acknowledged && m.Recorded <= acknowledged+m.Load.All.Errors*int64(b.Batch) {
		return nil
	}
	return fmt.Errorf("%d claims were acknowledged and %d recorded", acknowledged, m.Recorded)
}

func (m *measurement) write(out io.Writer) error {
	fmt.Fprintf(out, "server       %s, sale %s, acknowledged when %s\nload from    %s\n", m.Server, m.Sale, m.Durability, m.Hardware)
	if err := m.Load.WriteTable(out); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nin the whole run, with the warm-up: %d accepted, %d recorded\n", m.Load.All.Accepted, m.Recorded)
	return err
}
