package baseline

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"rushgate/bench/load"
	"rushgate/internal/testenv"
)

// A baseline that oversells, or that is not there, would be no measure.
func sells(t *testing.T, handler http.Handler, stock int64) {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	plan := load.Plan{Server: server.URL, Sale: "bench", Item: item, Mode: load.Closed, Names: load.Random,
		Duration: time.Minute, Requests: 4 * stock, Connections: 16, Seed: 3}
	first, err := load.Run(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if c := first.All; c.Accepted != stock || c.Refused["sold_out"] != 3*stock {
		t.Errorf("of %d units it sold %d and refused %v", stock, c.Accepted, c.Refused)
	}
}

// once asks for the same users again, with units left.
func once(t *testing.T, handler http.Handler) {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	plan := load.Plan{Server: server.URL, Sale: "bench", Item: item, Mode: load.Closed, Names: load.Random,
		Duration: time.Minute, Requests: 50, Connections: 4, Seed: 4}
	for round, want := range []int64{50, 0} {
		r, err := load.Run(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		if r.All.Accepted != want || r.All.Refused["limit_reached"] != 50-want {
			t.Errorf("round %d: sold %d to the same 50 users, refused %v", round+1, r.All.Accepted, r.All.Refused)
		}
	}
}

func TestRedisSellsWhatThereIsOncePerUser(t *testing.T) {
	open := func(stock int64) http.Handler {
		b, err := NewRedis(t.Context(), testenv.Redis(t).Addr, stock)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		return b.Handler()
	}
	sells(t, open(100), 100)
	once(t, open(1000))
}

func TestSQLRowSellsWhatThereIsOncePerUser(t *testing.T) {
	open := func(stock int64) http.Handler {
		b, err := NewSQLRow(t.Context(), t.TempDir(), stock)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		return b.Handler()
	}
	sells(t, open(30), 30)
	once(t, open(1000))
}

func TestEmptyAnswersEverybody(t *testing.T) {
	server := httptest.NewServer(Empty())
	defer server.Close()
	r, err := load.Run(t.Context(), load.Plan{Server: server.URL, Sale: "bench", Mode: load.Closed, Names: load.Sequential,
		Duration: time.Minute, Requests: 100, Connections: 4})
	if err != nil {
		t.Fatal(err)
	}
	if r.All.Accepted != 100 {
		t.Errorf("accepted %d of 100: %+v", r.All.Accepted, r.All)
	}
}
