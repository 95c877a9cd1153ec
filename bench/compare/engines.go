package main

import "context"

// decisions measures the Redis gate without HTTP, in batches, against one script
// call for each claim through the same client.
func (b *bench) decisions(ctx context.Context) error {
	times := "300000x"
	if b.quick {
		times = "100000x"
	}
	m, err := b.gobench(ctx, "rushgate/gate/redis", "BenchmarkDecisions", times)
	if err != nil {
		return err
	}
	for _, size := range []string{"64", "256", "1000"} {
		f, err := m.figures("Decisions/classic decisions/s", "Decisions/granted/batch="+size+" decisions/s",
			"Decisions/granted+settled/batch="+size+" decisions/s", "Decisions/refused/batch="+size+" decisions/s")
		if err != nil {
			return err
		}
		classic, granted, settled, refused := f[0], f[1], f[2], f[3]
		b.bound("Redis gate, grants in batches of "+size, granted, "/s", "≥ 300000", granted.value >= 300_000)
		b.atLeast("… ÷ one EVALSHA for each claim ("+size+")", granted, classic, 4)
		b.plain("… with settling ("+size+")", settled, "/s")
		b.plain("… refused by Redis ("+size+")", refused, "/s")
	}
	return nil
}

// ledgers measures the servers' ledgers against bare inserts of the same rows. Of
// the ways to write one by hand, over one connection, the fastest counts.
func (b *bench) ledgers(ctx context.Context) error {
	times := "1500x"
	if b.quick {
		times = "300x"
	}
	for _, l := range []struct{ name, pkg, bare, orBare string }{
		{"PostgreSQL", "rushgate/ledger/postgres", "values-rows/s", "unnest-rows/s"},
		{"MariaDB", "rushgate/ledger/mysql", "bare-rows/s", "bare-prepared-rows/s"},
	} {
		const compared = "RecordAgainstBareInsert "
		m, err := b.gobench(ctx, l.pkg, "BenchmarkRecordAgainstBareInsert", times)
		if err != nil {
			return err
		}
		f, err := m.figures(compared+"record-claims/s", compared+l.bare, compared+l.orBare)
		if err != nil {
			return err
		}
		fastest := figure{value: max(f[1].value, f[2].value)}
		b.atLeast(l.name+" ledger, batches of 256, ÷ the fastest bare insert of the rows", f[0], fastest, 0.8)
	}
	return nil
}

// shards measures one sale in 1, 2 and 4 shards on a Redis Cluster of 4 masters,
// all on this machine: what it costs, not what it gains.
func (b *bench) shards(ctx context.Context) error {
	times := "300000x"
	if b.quick {
		times = "100000x"
	}
	m, err := b.gobench(ctx, "rushgate/gate/redis", "BenchmarkShards", times)
	if err != nil {
		return err
	}
	for _, n := range []string{"1", "2", "4"} {
		f, err := m.figures("Shards/shards="+n+" decisions/s", "Shards/shards="+n+" redis-us/claim")
		if err != nil {
			return err
		}
		b.plain("Redis Cluster, one sale in shards: "+n, f[0], "/s")
		b.plain("… Redis' CPU of a claim ("+n+")", f[1], "µs")
	}
	return nil
}
