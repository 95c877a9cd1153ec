package lab_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"rushgate/lab"
)

// TestConnectionsAreOpenBeforeTheSale: what it takes to open them is nobody's
// time in the line.
func TestConnectionsAreOpenBeforeTheSale(t *testing.T) {
	server := redisServers[0].Server(t)
	ways, err := lab.Choose([]string{"redis-lua", "redis-lpop", "redis-unit-number", "sql-unique-postgres"})
	if err != nil {
		t.Fatal(err)
	}
	count := func(w lab.Way) (n int) {
		if w.Family == lab.SQL {
			out, err := postgres.Server(t).SQL("postgres", "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range out {
				n = n*10 + int(c-'0')
			}
			return n
		}
		db := redis.NewClient(&redis.Options{Addr: server.Addr})
		defer db.Close()
		clients, err := db.ClientList(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range clients {
			if c == '\n' {
				n++
			}
		}
		return n
	}
	for _, w := range ways {
		const connections = 20
		seller := open(t, w, lab.Place{Redis: []string{server.Addr}, Postgres: postgres.Server(t).URL("postgres"), Connections: connections, Lease: time.Second})
		if err := seller.Begin(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if n := count(w); n < connections {
			t.Errorf("%s: %d of %d connections are open", w.Name, n, connections)
		}
		if err := seller.Close(); err != nil {
			t.Error(err)
		}
	}
}
