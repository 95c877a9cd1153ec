package testenv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// agreement is how long servers of a group may take to agree: with the time in
// which they find out that one of them is gone, and several elections.
const agreement = 60 * time.Second

// group is several Redis servers that are started and ended together.
type group struct {
	dir     string
	servers []*RedisServer
}

// add starts one more server in a folder of its own.
func (g *group) add(start func(dir string) (*RedisServer, error)) (*RedisServer, error) {
	dir := filepath.Join(g.dir, strconv.Itoa(len(g.servers)))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of the server: %w", err)
	}
	s, err := start(dir)
	if err != nil {
		return nil, err
	}
	g.servers = append(g.servers, s)
	return s, nil
}

// Stop ends all servers, and waits until they have ended. It may be called
// again.
func (g *group) Stop() {
	var all sync.WaitGroup
	for _, s := range g.servers {
		all.Go(s.Stop)
	}
	all.Wait()
}

// at returns the server with an address.
func (g *group) at(addr string) (*RedisServer, error) {
	for _, s := range g.servers {
		if s.Addr == addr {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%s is none of ours", addr)
}

// agreed returns the one answer that all servers give which can answer at all:
// it is an error if there is none, or if they differ.
func agreed(servers []*RedisServer, ask func(*RedisServer) (string, error)) (string, error) {
	said, by := "", ""
	for _, s := range servers {
		if !s.awake() {
			continue
		}
		answer, err := ask(s)
		if err != nil {
			return "", fmt.Errorf("%s: %w", s.Addr, err)
		}
		if by != "" && answer != said {
			return "", fmt.Errorf("%s says %q, and %s says %q", by, said, s.Addr, answer)
		}
		said, by = answer, s.Addr
	}
	if by == "" {
		return "", errors.New("no server runs that could be asked")
	}
	return said, nil
}
