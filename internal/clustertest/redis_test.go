package clustertest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"rushgate/internal/testenv"
)

// say gives a Redis one command on a connection of its own, and returns the
// first line of its answer.
func say(s *testenv.RedisServer, command string) (string, error) {
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "%s\r\n", command); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if strings.HasPrefix(line, "-") {
		err = fmt.Errorf("%s: %s", command, line)
	}
	return strings.TrimSpace(line), err
}

// Redis loses what it knew in the middle of the rush, in every way that there
// is. What was acknowledged stays, the sale goes on, and ends exactly.
func TestRedisForgets(t *testing.T) {
	t.Parallel()
	restart := func(c *cluster, s *testenv.RedisServer) {
		s.Kill()
		c.must("start Redis again", s.Start())
	}
	flush := func(command string) func(*cluster, *testenv.RedisServer) {
		return func(c *cluster, s *testenv.RedisServer) {
			_, err := say(s, command)
			c.must(command, err)
		}
	}
	for name, how := range map[string]struct {
		settings []string
		forget   func(*cluster, *testenv.RedisServer)
	}{
		"killed":       {nil, restart},
		"killed_AOF":   {[]string{"appendonly yes", "appendfsync everysec"}, restart},
		"flushed":      {nil, flush("FLUSHALL")},
		"script_flush": {nil, flush("SCRIPT FLUSH")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const stock, people = 400, 1200
			seed := seed(t)
			ledger, redis := onPostgres(t, postgresql.Server(t)), testenv.Redis(t, how.settings...)
			c := gather(t, plan{nodes: 2, ledger: ledger, gate: redis.URL()})
			c.awaitReady(2)
			c.sell(stock)
			crowd := c.crowd(seed)
			for _, at := range []int{stock / 5, stock / 2, stock * 4 / 5} {
				crowd.at(at, func(context.Context) { how.forget(c, redis) })
			}
			crowd.rush(people)
			c.conclude(crowd.journal)
		})
	}
}
