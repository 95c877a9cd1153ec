package clustertest

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rushgate/client"
	"rushgate/internal/binary"
	"rushgate/internal/fleet"
)

// sale is the one that is sold in every test.
const sale = "s"

// cluster is nodes that sell from one ledger, and where to look behind them.
type cluster struct {
	*fleet.Fleet
	t        *testing.T
	ledger   ledger
	gate     string // URL, as an auditor uses it
	operator *client.Client
}

// ledger is a database, and how it is asked without any of our code.
type ledger struct {
	url string // as an auditor uses it
	sql func(statement string) (string, error)
}

// plan is what a cluster is made of.
type plan struct {
	nodes  int
	ledger ledger
	gate   string // URL

	// via says what a node is given instead of these URLs, where a proxy is
	// between; nil: nothing.
	via func(node string) (ledger, gate string)

	// mortal is the moment at which the last node, which is no real one, kills
	// itself again and again; empty: all are real.
	mortal string

	// drain is how long a node that is stopped still serves.
	drain time.Duration

	// adopt is how long a claim waits for its node before others record it; 0: as
	// long as in most tests.
	adopt time.Duration
}

// How the nodes of the tests get on with each other: a silent one is missed
// soon, but not as soon as a busy machine is silent.
const (
	lease = 2 * time.Second
	adopt = time.Second
)

// gather starts a cluster that ends with the test, and returns when all nodes
// answer.
func gather(t *testing.T, p plan) *cluster {
	t.Helper()
	names := make([]string, p.nodes)
	for i := range names {
		names[i] = fmt.Sprintf("n%d", i+1)
	}
	dir := t.TempDir()
	f := fleet.New(names, func(name string) fleet.Begin {
		if p.mortal != "" && name == names[len(names)-1] {
			return func() (*binary.Server, error) { return startMortal(p) }
		}
		ledgerURL, gateURL := p.ledger.url, p.gate
		if p.via != nil {
			ledgerURL, gateURL = p.via(name)
		}
		flags := []string{"--data", filepath.Join(dir, name), "--node", name, "--admin-token", token,
			"--ledger", ledgerURL, "--gate", gateURL, "--drain", p.drain.String(),
			"--lease", lease.String(), "--adopt-after", cmp.Or(p.adopt, adopt).String()}
		return func() (*binary.Server, error) { return binary.Start(program, flags...) }
	})
	c := &cluster{Fleet: f, t: t, ledger: p.ledger, gate: p.gate}
	c.operator = c.client(patiently())
	t.Cleanup(c.end)
	if err := f.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// end ends the nodes, and tells what they complained of if the test has failed.
func (c *cluster) end() {
	c.operator.Close()
	c.Close()
	if c.t.Failed() {
		for _, n := range c.Nodes {
			c.t.Logf("node %s:\n%s", n.Name, complaints(n.Log()))
		}
	}
}

// complaints are the lines of a log that are not of an ordinary day.
func complaints(log string) string {
	const most = 60
	var lines []string
	for line := range strings.Lines(log) {
		if !strings.Contains(line, `"level":"INFO"`) || strings.Contains(line, "this node") {
			lines = append(lines, line)
		}
	}
	if over := len(lines) - most; over > 0 {
		lines = append(append(lines[:most/2:most/2], fmt.Sprintf("… %d lines …\n", over)), lines[most/2+over:]...)
	}
	return strings.Join(lines, "")
}

// client speaks to the fleet through the balancer.
func (c *cluster) client(options ...client.Option) *client.Client {
	c.t.Helper()
	return c.connect(fleet.Base, append(options, client.WithHTTPClient(&http.Client{Transport: c.Balancer}))...)
}

// patiently asks again for as long as a cluster may need to come to itself.
func patiently() client.Option {
	return client.WithRetry(client.Retry{Attempts: 60, Pause: 100 * time.Millisecond, MaxPause: 500 * time.Millisecond, MaxRetryAfter: 2 * time.Second})
}

// patientAt speaks to one node alone, which may have lost its place for a moment.
func (c *cluster) patientAt(n *fleet.Node) *client.Client {
	c.t.Helper()
	return c.connect(n.URL(), patiently())
}

// at speaks to one node alone, and asks once.
func (c *cluster) at(n *fleet.Node) *client.Client {
	c.t.Helper()
	return c.connect(n.URL(), client.WithRetry(client.Retry{Attempts: 1}))
}

func (c *cluster) connect(url string, options ...client.Option) *client.Client {
	c.t.Helper()
	made, err := client.New(url, append([]client.Option{client.WithToken(token)}, options...)...)
	if err != nil {
		c.t.Fatal(err)
	}
	return made
}

// sellers is how many nodes are ready in good times.
func (c *cluster) sellers() int {
	if c.gate == gateMemory {
		return 1
	}
	return len(c.Nodes)
}

// gateMemory is the gate of one leader and its standbys.
const gateMemory = "memory"

// awaitReady waits until so many nodes may be sent traffic.
func (c *cluster) awaitReady(nodes int) {
	c.t.Helper()
	until(c.t, fmt.Sprintf("%d nodes are ready", nodes), func() error {
		if ready := c.ready(); len(ready) < nodes {
			return fmt.Errorf("%d are", len(ready))
		}
		return nil
	})
}

// ready are the nodes that sell.
func (c *cluster) ready() (nodes []*fleet.Node) {
	for _, n := range c.Nodes {
		if n.Ready() {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// sell makes the sale: one each, held until paid.
func (c *cluster) sell(stock int64, change ...func(*client.Sale)) {
	c.t.Helper()
	s := client.Sale{ID: sale, PerUser: 1, Hold: "24h", Items: []client.Item{{ID: "a", Stock: stock}}}
	for _, f := range change {
		f(&s)
	}
	if _, err := c.operator.CreateSale(c.t.Context(), s); err != nil {
		c.t.Fatal(err)
	}
}

// must fails the test beside the crowd, where Fatal may not be called.
func (c *cluster) must(what string, err error) {
	if err != nil {
		c.t.Errorf("%s: %v", what, err)
	}
}

// rows asks the ledger, past all nodes, and returns a line for each row, with
// tabs between the columns.
func (c *cluster) rows(statement string) (rows [][]string) {
	c.t.Helper()
	text, err := c.ledger.sql(statement)
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(strings.ReplaceAll(text, "|", "\t")) {
		rows = append(rows, strings.Split(strings.TrimRight(line, "\n"), "\t"))
	}
	return rows
}

// number is the one number that a statement gives.
func (c *cluster) number(statement string) (n int64) {
	c.t.Helper()
	rows := c.rows(statement)
	if len(rows) != 1 || len(rows[0]) != 1 {
		c.t.Fatalf("%s: %v", statement, rows)
	}
	if _, err := fmt.Sscan(rows[0][0], &n); err != nil {
		c.t.Fatalf("%s: %v", statement, errors.Join(err, fmt.Errorf("%v", rows)))
	}
	return n
}
