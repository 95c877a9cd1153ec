package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"rushgate/client"
)

// saleCreateCmd makes a sale.
type saleCreateCmd struct {
	ID       string        `name:"id" help:"Id of the sale: a-z, 0-9 and '-'. Made if absent."`
	Name     string        `help:"Name for people."`
	Item     []string      `sep:"none" placeholder:"ID[:NAME]=STOCK" help:"An item with its stock; repeat it for several."`
	Stock    int64         `help:"Stock of a sale with a single item, which is called unit."`
	PerUser  int64         `default:"1" help:"Units one user may have at the same time; 0: no limit."`
	Hold     time.Duration `default:"15m" help:"How long a claim waits to be confirmed; 0: confirmed at once."`
	Ack      string        `help:"What must be true before a claim is answered: recorded (committed in SQL; the default), replicated or accepted (weaker, and only with a Redis gate)."`
	Shards   int           `help:"Into how many parts a Redis gate divides the stock, 1 to 64. Default: 1."`
	OpensAt  string        `placeholder:"TIME" help:"When it opens: RFC 3339, or a span from now as +10m. Default: now."`
	ClosesAt string        `placeholder:"TIME" help:"When it closes: RFC 3339, or a span from now as +2h. Default: never."`
	File     string        `placeholder:"FILE" help:"JSON of the sale as the API takes it, instead of the flags above; - reads standard input."`

	saleFlags `embed:""`
}

// Help teaches.
func (*saleCreateCmd) Help() string {
	return `  rushgate sale create --id phones --name "iPhone 100S" --stock 100
  rushgate sale create --id shoes --item eu42:"EU 42"=30 --item eu43=20 --per-user 2 --opens-at +10m
  rushgate sale create --id coupons --stock 5000 --hold 0
  rushgate sale create --id tickets --stock 500000 --shards 8 --ack replicated
  rushgate sale create --file sale.json`
}

// Run makes the sale.
func (s *saleCreateCmd) Run(ctx context.Context, w world) error {
	sale, err := s.sale(w.in, time.Now())
	if err != nil {
		return err
	}
	return s.operate(w, func(c *client.Client) (*client.Sale, error) { return c.CreateSale(ctx, *sale) })
}

func (s *saleCreateCmd) sale(in io.Reader, now time.Time) (*client.Sale, error) {
	if s.File != "" {
		if s.ID != "" || s.Name != "" || len(s.Item) > 0 || s.Stock != 0 || s.Ack != "" || s.Shards != 0 || s.OpensAt != "" || s.ClosesAt != "" {
			return nil, errors.New("--file says everything about the sale: leave the other flags out")
		}
		return readSale(s.File, in)
	}
	sale := &client.Sale{ID: s.ID, Name: s.Name, PerUser: s.PerUser, Hold: s.Hold.String(), Ack: s.Ack, Shards: s.Shards}
	var err error
	if sale.Items, err = s.items(); err != nil {
		return nil, err
	}
	if sale.OpensAt, err = parseMoment("--opens-at", s.OpensAt, now); err != nil {
		return nil, err
	}
	sale.ClosesAt, err = parseMoment("--closes-at", s.ClosesAt, now)
	return sale, err
}

func (s *saleCreateCmd) items() ([]client.Item, error) {
	switch {
	case len(s.Item) == 0 && s.Stock == 0:
		return nil, errors.New("there is nothing to sell: give --stock N, or --item ID=STOCK for each item")
	case len(s.Item) > 0 && s.Stock != 0:
		return nil, errors.New("--stock is for a sale with a single item: with --item, the stock is written there")
	case s.Stock != 0:
		return []client.Item{{ID: "unit", Name: s.Name, Stock: s.Stock}}, nil
	}
	var items []client.Item
	for _, arg := range s.Item {
		what, stock, ok := cutLast(arg, "=")
		n, err := strconv.ParseInt(stock, 10, 64)
		if !ok || err != nil {
			return nil, fmt.Errorf("--item %q: write ID=STOCK or ID:NAME=STOCK, for example black-128:Black=100", arg)
		}
		id, name, _ := strings.Cut(what, ":")
		items = append(items, client.Item{ID: id, Name: name, Stock: n})
	}
	return items, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// parseMoment reads a moment, or a span from now.
func parseMoment(flag, s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if span, ok := strings.CutPrefix(s, "+"); ok {
		if d, err := time.ParseDuration(span); err == nil {
			return now.Add(d).UTC().Truncate(time.Millisecond), nil
		}
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t.UTC(), nil
	}
	return time.Time{}, fmt.Errorf("%s %q: write a moment as %s, or a span from now as +10m", flag, s, now.UTC().Format(time.RFC3339))
}

const maxSaleFile = 1 << 20

// readSale reads the JSON of a sale. What the server would not know is
// reported here, with the name of the file.
func readSale(path string, in io.Reader) (*client.Sale, error) {
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("--file: %w", err)
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxSaleFile))
	if err != nil {
		return nil, fmt.Errorf("--file %s: %w", path, err)
	}
	sale := &client.Sale{PerUser: 1, Hold: "15m"}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(sale); err != nil {
		return nil, fmt.Errorf("--file %s: it must be a sale as the API takes it: %w", path, err)
	}
	return sale, nil
}
