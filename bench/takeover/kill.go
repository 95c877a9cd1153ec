package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"rushgate/internal/fleet"
	"rushgate/internal/testenv"
)

// killLeaders kills whoever leads, while the other one stands by.
func killLeaders(ctx context.Context, m *measurement) error {
	f, end, err := m.cluster(ctx, "memory")
	if err != nil {
		return err
	}
	defer end()
	for range m.runs {
		var leader *fleet.Node
		if err := until(ctx, func() (err error) { leader, err = seller(f); return err }); err != nil {
			return err
		}
		gap, err := outage(ctx, f, func() error { leader.Kill(); return nil }, m.lease)
		if err != nil {
			return err
		}
		m.keep("leader", gap)
		if err := leader.Start(); err != nil {
			return err
		}
	}
	return nil
}

// untroubled is how long sentinels must have been left in peace: they do not
// start a failover within twice the failover-timeout of the last one, which is
// 4 s here.
const untroubled = 9 * time.Second

// killMasters kills whoever is the master, and starts it again as a replica.
func killMasters(ctx context.Context, m *measurement) error {
	dir, err := os.MkdirTemp(m.dir, "sentinel-")
	if err != nil {
		return err
	}
	group, err := testenv.StartRedisSentinel(dir, 1)
	if err != nil {
		return err
	}
	defer group.Stop()
	f, end, err := m.cluster(ctx, "redis://"+strings.Join(group.Addrs(), ",")+"?sentinel="+group.Name)
	if err != nil {
		return err
	}
	defer end()
	for range m.runs {
		if err := until(ctx, group.Complete); err != nil {
			return err
		}
		if err := wait(ctx, untroubled); err != nil {
			return err
		}
		master, err := group.Master()
		if err != nil {
			return err
		}
		gap, err := outage(ctx, f, func() error { master.Kill(); return nil }, m.lease)
		if err != nil {
			return err
		}
		m.keep("master", gap)
		if err := master.Start(); err != nil {
			return err
		}
	}
	return nil
}

// wait lets time pass.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return errors.New("interrupted")
	}
}
