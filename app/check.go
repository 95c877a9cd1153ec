package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"rushgate"
	"rushgate/admission"
	"rushgate/ledger/sqlite"
)

// Probe is one thing that a server needs, tried.
type Probe struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`                // a server would start
	Warning bool   `json:"warning,omitempty"` // and yet somebody should know
	Detail  string `json:"detail"`
}

// Check tries everything that a server of this configuration needs, and
// changes nothing: what it writes into the data folder it removes again.
func Check(ctx context.Context, cfg Config) []Probe {
	c := checkup{cfg: cfg}
	if err := cfg.Validate(); err != nil {
		c.fail("configuration", err)
		return c.probes
	}
	c.fine("configuration", "identity %s, ledger %s, gate %s", cfg.identity(), place(cfg.Ledger), place(cfg.Gate))
	c.address(ctx)
	c.identity(ctx)
	if c.folder() {
		if cfg.alone() {
			c.fsync()
			c.database(ctx)
		}
		c.token()
	}
	c.ledger(ctx)
	c.gate(ctx)
	c.clock()
	c.files()
	return c.probes
}

type checkup struct {
	cfg    Config
	probes []Probe

	ledgerID string    // of a ledger on a server, once it is known
	last     time.Time // when the last claim was made, as the ledger says
}

func (c *checkup) fine(name, detail string, args ...any) {
	c.probes = append(c.probes, Probe{Name: name, OK: true, Detail: fmt.Sprintf(detail, args...)})
}

func (c *checkup) warn(name, detail string, args ...any) {
	c.probes = append(c.probes, Probe{Name: name, OK: true, Warning: true, Detail: fmt.Sprintf(detail, args...)})
}

func (c *checkup) fail(name string, err error) {
	c.probes = append(c.probes, Probe{Name: name, Detail: err.Error()})
}

// address takes the address and gives it back.
func (c *checkup) address(ctx context.Context) {
	l, err := listen(ctx, c.cfg.Listen)
	if err != nil {
		c.fail("address", err)
		return
	}
	if err := l.Close(); err != nil {
		c.fail("address", err)
		return
	}
	c.fine("address", "%s is free", c.cfg.Listen)
}

// identity makes the identity, and reads the key set where there is one.
func (c *checkup) identity(ctx context.Context) {
	_, keys, err := newIdentity(&c.cfg)
	if err == nil && keys != nil {
		err = refresh(ctx, keys)
	}
	if err != nil {
		c.fail("identity", err)
		return
	}
	detail := map[string]string{
		identityDev:     "every user is believed: for this machine only",
		identityBackend: "your server, by its API key",
		identityJWT:     "buyers, by their tokens",
	}
	c.fine("identity", "%s", detail[c.cfg.identity()])
}

func refresh(ctx context.Context, keys *admission.KeySet) error {
	defer keys.Close()
	if err := keys.Refresh(ctx); err != nil {
		return fmt.Errorf("the key set cannot be read: %w", err)
	}
	return nil
}

// folder says whether the data folder is there, or can be made.
func (c *checkup) folder() bool {
	info, err := os.Stat(c.cfg.Data)
	if errors.Is(err, fs.ErrNotExist) {
		c.missing()
		return false
	}
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder: name a folder for the data, or one that can be made", c.cfg.Data)
	}
	if err == nil {
		err = tryWrite(c.cfg.Data, nil)
	}
	switch {
	case err != nil:
		c.fail("folder", fmt.Errorf("%w: give this user the right to write there, or name another folder with --data", err))
		return false
	case info.Mode().Perm()&0o077 != 0:
		c.warn("folder", "%s can be read by others (%s): chmod 700 keeps buyers' names to this user", c.cfg.Data, info.Mode().Perm())
	default:
		c.fine("folder", "%s can be written", c.cfg.Data)
	}
	return true
}

// missing looks whether the folder could be made: whether the nearest folder
// above it can be written.
func (c *checkup) missing() {
	parent, err := filepath.Abs(c.cfg.Data)
	for err == nil {
		parent = filepath.Dir(parent)
		if _, statErr := os.Stat(parent); statErr == nil {
			break
		}
		if parent == filepath.Dir(parent) {
			break
		}
	}
	if err == nil {
		err = tryWrite(parent, nil)
	}
	if err != nil {
		c.fail("folder", fmt.Errorf("%s is not there and cannot be made: %w", c.cfg.Data, err))
		return
	}
	c.fine("folder", "%s is not there yet; the first start makes it", c.cfg.Data)
}

// tryWrite makes a file in a folder, lets use write to it, and removes it.
func tryWrite(dir string, use func(*os.File) error) error {
	f, err := os.CreateTemp(dir, ".rushgate-check-*")
	if err != nil {
		return err
	}
	if use != nil {
		err = use(f)
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// slowFsync is what a disk should not need: every batch waits for one.
const slowFsync = 20 * time.Millisecond

// fsync measures what a commit waits for.
func (c *checkup) fsync() {
	const rounds = 16
	var total, worst time.Duration
	err := tryWrite(c.cfg.Data, func(f *os.File) error {
		page := make([]byte, 4096)
		for range rounds {
			began := time.Now()
			if _, err := f.Write(page); err != nil {
				return err
			}
			if err := f.Sync(); err != nil {
				return err
			}
			took := time.Since(began)
			total, worst = total+took, max(worst, took)
		}
		return nil
	})
	mean := total / rounds
	switch {
	case err != nil:
		c.fail("fsync", fmt.Errorf("the disk of %s does not write durably: %w", c.cfg.Data, err))
	case mean > slowFsync:
		c.warn("fsync", "%s on average, %s at worst: an idle server answers a claim no faster", round(mean), round(worst))
	default:
		c.fine("fsync", "%s on average, %s at worst", round(mean), round(worst))
	}
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// database opens the ledger for reading, which looks at its version, and
// audits every sale.
func (c *checkup) database(ctx context.Context) {
	if _, err := os.Stat(filepath.Join(c.cfg.Data, "rushgate.db")); errors.Is(err, fs.ErrNotExist) {
		c.fine("database", "none yet; the first start makes it")
		return
	}
	ledger, err := sqlite.OpenReadOnly(ctx, c.cfg.Data)
	if err != nil {
		c.fail("database", err)
		return
	}
	n, err := c.sales(ctx, ledger)
	if err = errors.Join(err, ledger.Close()); err != nil {
		c.fail("database", err)
		return
	}
	c.fine("database", "%d sales, every invariant holds", n)
}

func (c *checkup) sales(ctx context.Context, ledger rushgate.Ledger) (int, error) {
	sales, err := ledger.Sales(ctx)
	if err != nil {
		return 0, err
	}
	if c.last, err = lastID(ctx, ledger); err != nil {
		return 0, err
	}
	for i := range sales {
		report, err := auditLedger(ctx, ledger, sales[i].ID)
		if err != nil {
			return 0, fmt.Errorf("sale %s: %w", sales[i].ID, err)
		}
		for _, failed := range report.Failed() {
			if failed.Name != "swept" { // nobody sweeps while no server runs
				return 0, fmt.Errorf("sale %s: %s: %s", sales[i].ID, failed.Name, failed.Detail)
			}
		}
	}
	return len(sales), nil
}

// token looks at the admin token's file.
func (c *checkup) token() {
	path := filepath.Join(c.cfg.Data, TokenFile)
	info, err := os.Stat(path)
	switch {
	case c.cfg.AdminToken != "":
		c.fine("admin token", "given")
	case errors.Is(err, fs.ErrNotExist):
		c.fine("admin token", "the first start makes one in %s", path)
	case err != nil:
		c.fail("admin token", err)
	case info.Mode().Perm()&0o077 != 0:
		c.warn("admin token", "%s can be read by others (%s): chmod 600", path, info.Mode().Perm())
	default:
		if _, err := ReadAdminToken(c.cfg.Data); err != nil {
			c.fail("admin token", err)
			return
		}
		c.fine("admin token", "in %s", path)
	}
}

// lastID returns when the latest claim or batch was made, the zero time for none.
func lastID(ctx context.Context, ledger rushgate.Ledger) (time.Time, error) {
	id, err := ledger.LastID(ctx)
	if err != nil || id == 0 {
		return time.Time{}, err
	}
	return id.Time(), nil
}

// clock compares the wall clock with what the ledger remembers of it: windows
// and holds are measured by it.
func (c *checkup) clock() {
	now := time.Now()
	last := c.last
	switch {
	case now.Year() < 2024:
		c.fail("clock", fmt.Errorf("it says %s: set it, or sales open and claims expire at wrong times", now.UTC().Format(time.RFC3339)))
	case last.Sub(now) > time.Minute:
		c.warn("clock", "it says %s, but the ledger was last written at %s: it went back, and claims live longer by that",
			now.UTC().Format(time.RFC3339), last.UTC().Format(time.RFC3339))
	default:
		c.fine("clock", "%s", now.UTC().Format(time.RFC3339))
	}
}

// files compares the limit of open files with the 10,000 connections that a
// server should bear.
func (c *checkup) files() {
	bound, err := connections(c.cfg.Connections)
	switch {
	case err != nil:
		c.fail("open files", err)
	case bound < 10_000:
		c.warn("open files", "%d connections at the same time: raise the limit with ulimit -n or LimitNOFILE=", bound)
	default:
		c.fine("open files", "%d connections at the same time", bound)
	}
}
