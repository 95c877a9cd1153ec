package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"rushgate/client"
)

// saleCmd operates sales on a server.
type saleCmd struct {
	Create  saleCreateCmd  `cmd:"" help:"Make a sale."`
	List    saleListCmd    `cmd:"" help:"List all sales."`
	Show    saleShowCmd    `cmd:"" help:"Show a sale and its stock."`
	Restock saleRestockCmd `cmd:"" help:"Add units to an item, or take free ones back."`
	Freeze  saleFreezeCmd  `cmd:"" help:"Stop a sale for a while: when it returns, nothing is granted."`
	Resume  saleResumeCmd  `cmd:"" help:"End a freeze."`
	Close   saleCloseCmd   `cmd:"" help:"End a sale for good: when it returns, nothing is granted."`
}

// saleFlags are those of every command on sales.
type saleFlags struct {
	remote `embed:""`
	JSON   bool `name:"json" help:"Print JSON instead of a table."`
}

// operate makes one change and shows the sale after it.
func (f *saleFlags) operate(w world, change func(*client.Client) (*client.Sale, error)) error {
	c, err := f.operator()
	if err != nil {
		return err
	}
	defer c.Close()
	sale, err := change(c)
	if err != nil {
		return f.explain(err)
	}
	return f.print(w.out, sale, nil)
}

func (f *saleFlags) print(w io.Writer, sale *client.Sale, stock []client.Stock) error {
	if !f.JSON {
		return writeSale(w, sale, stock)
	}
	if stock == nil {
		return writeJSON(w, sale)
	}
	return writeJSON(w, struct {
		*client.Sale
		Stock []client.Stock `json:"stock"`
	}{sale, stock})
}

// saleListCmd lists sales.
type saleListCmd struct {
	saleFlags `embed:""`
}

// Help teaches.
func (*saleListCmd) Help() string {
	return "  rushgate sale list\n  rushgate sale list --server https://rush.example.com --json"
}

// Run prints all sales.
func (s *saleListCmd) Run(ctx context.Context, w world) error {
	c, err := s.visitor()
	if err != nil {
		return err
	}
	defer c.Close()
	sales, err := c.Sales(ctx)
	if err != nil {
		return s.explain(err)
	}
	if s.JSON {
		return writeJSON(w.out, sales)
	}
	t := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SALE\tSTATE\tITEMS\tSTOCK\tOPENS\tCLOSES\tNAME")
	for i := range sales {
		sale := &sales[i]
		var stock int64
		for _, it := range sale.Items {
			stock += it.Stock
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%s\t%s\n", sale.ID, sale.State, len(sale.Items), stock,
			moment(sale.OpensAt, "now"), moment(sale.ClosesAt, "never"), sale.Name)
	}
	return t.Flush()
}

// saleShowCmd shows one sale.
type saleShowCmd struct {
	Sale      string `arg:"" help:"Id of the sale."`
	saleFlags `embed:""`
}

// Help teaches.
func (*saleShowCmd) Help() string {
	return "  rushgate sale show phones\n  rushgate sale show phones --data /var/lib/rushgate --json"
}

// Run prints a sale with its stock.
func (s *saleShowCmd) Run(ctx context.Context, w world) error {
	c, err := s.operator()
	if err != nil {
		return err
	}
	defer c.Close()
	sale, err := c.GetSale(ctx, s.Sale)
	if err != nil {
		return s.explain(err)
	}
	stock, _, err := c.Stock(ctx, s.Sale)
	if err != nil {
		return s.explain(err)
	}
	return s.print(w.out, sale, stock)
}

// saleRestockCmd changes a stock.
type saleRestockCmd struct {
	Sale      string `arg:"" help:"Id of the sale."`
	Add       int64  `required:"" help:"Units to add; negative takes back units that are free: --add=-20."`
	Item      string `help:"Id of the item; may be left out when the sale has one."`
	saleFlags `embed:""`
}

// Help teaches.
func (*saleRestockCmd) Help() string {
	return "  rushgate sale restock phones --add 50\n  rushgate sale restock phones --item black-128 --add=-20"
}

// Run adds units.
func (s *saleRestockCmd) Run(ctx context.Context, w world) error {
	return s.operate(w, func(c *client.Client) (*client.Sale, error) { return c.Restock(ctx, s.Sale, s.Item, s.Add) })
}

// saleFreezeCmd stops a sale.
type saleFreezeCmd struct {
	Sale      string `arg:"" help:"Id of the sale."`
	saleFlags `embed:""`
}

// Help teaches.
func (*saleFreezeCmd) Help() string { return "  rushgate sale freeze phones" }

// Run freezes.
func (s *saleFreezeCmd) Run(ctx context.Context, w world) error {
	return s.operate(w, func(c *client.Client) (*client.Sale, error) { return c.Freeze(ctx, s.Sale) })
}

// saleResumeCmd ends a freeze.
type saleResumeCmd struct {
	Sale      string `arg:"" help:"Id of the sale."`
	saleFlags `embed:""`
}

// Help teaches.
func (*saleResumeCmd) Help() string { return "  rushgate sale resume phones" }

// Run resumes.
func (s *saleResumeCmd) Run(ctx context.Context, w world) error {
	return s.operate(w, func(c *client.Client) (*client.Sale, error) { return c.Resume(ctx, s.Sale) })
}

// saleCloseCmd ends a sale.
type saleCloseCmd struct {
	Sale      string `arg:"" help:"Id of the sale."`
	saleFlags `embed:""`
}

// Help teaches.
func (*saleCloseCmd) Help() string { return "  rushgate sale close phones" }

// Run closes the sale.
func (s *saleCloseCmd) Run(ctx context.Context, w world) error {
	return s.operate(w, func(c *client.Client) (*client.Sale, error) { return c.CloseSale(ctx, s.Sale) })
}

// writeSale prints a sale for people.
func writeSale(w io.Writer, sale *client.Sale, stock []client.Stock) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	limit := "no limit"
	if sale.PerUser > 0 {
		limit = fmt.Sprint(sale.PerUser)
	}
	hold := sale.Hold
	if hold == "" || hold == "0" || hold == "0s" {
		hold = "none: a claim is confirmed at once"
	}
	fmt.Fprintf(t, "sale\t%s\nname\t%s\nstate\t%s\nopens\t%s\ncloses\t%s\nper user\t%s\nhold\t%s\nack\t%s\nshards\t%d\n", sale.ID, sale.Name, sale.State,
		moment(sale.OpensAt, "now"), moment(sale.ClosesAt, "never"), limit, hold, sale.Ack, sale.Shards)
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if stock == nil {
		fmt.Fprintln(t, "ITEM\tSTOCK\tNAME")
		for _, it := range sale.Items {
			fmt.Fprintf(t, "%s\t%d\t%s\n", it.ID, it.Stock, it.Name)
		}
		return t.Flush()
	}
	fmt.Fprintln(t, "ITEM\tTOTAL\tFREE\tHELD\tCONFIRMED\tUNSETTLED")
	for _, s := range stock {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\n", s.Item, s.Total, s.Free, s.Held, s.Confirmed, s.Unsettled)
	}
	return t.Flush()
}

func moment(t time.Time, zero string) string {
	if t.IsZero() {
		return zero
	}
	return t.UTC().Format(time.RFC3339)
}
