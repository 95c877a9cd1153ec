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
	classic := figure{value: m["Decisions/classic decisions/s"]}
	for _, size := range []string{"64", "256", "1000"} {
		f := figure{value: m["Decisions/granted/batch="+size+" decisions/s"]}
		b.bound("Redis gate, grants in batches of "+size, f, "/s", "≥ 300000", f.value >= 300_000)
		b.atLeast("… ÷ one EVALSHA for each claim ("+size+")", f, classic, 4)
		b.plain("… with settling ("+size+")", figure{value: m["Decisions/granted+settled/batch="+size+" decisions/s"]}, "/s")
		b.plain("… refused by Redis ("+size+")", figure{value: m["Decisions/refused/batch="+size+" decisions/s"]}, "/s")
	}
	return nil
}

// ledgers measures the servers' ledgers against bare inserts of the same rows.
func (b *bench) ledgers(ctx context.Context) error {
	times := "1500x"
	if b.quick {
		times = "300x"
	}
	for _, l := range []struct{ name, pkg string }{{"PostgreSQL", "rushgate/ledger/postgres"}, {"MariaDB", "rushgate/ledger/mysql"}} {
		m, err := b.gobench(ctx, l.pkg, "BenchmarkRecordAgainstBareInsert", times)
		if err != nil {
			return err
		}
		b.atLeast(l.name+" ledger, batches of 256, ÷ bare insert of the rows", figure{value: m["RecordAgainstBareInsert record-claims/s"]},
			figure{value: m["RecordAgainstBareInsert bare-rows/s"]}, 0.8)
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
		b.plain("Redis Cluster, one sale in shards: "+n, figure{value: m["Shards/shards="+n+" decisions/s"]}, "/s")
		b.plain("… Redis' CPU of a claim ("+n+")", figure{value: m["Shards/shards="+n+" redis-us/claim"]}, "µs")
	}
	return nil
}
