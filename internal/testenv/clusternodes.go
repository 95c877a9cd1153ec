package testenv

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// clusterNode is how one server of a cluster sees another one: a line of the
// answer to CLUSTER NODES.
type clusterNode struct {
	id, addr string
	flags    []string
	master   string // the id of whom it copies, or "-"
	slots    []string
}

type clusterNodes []clusterNode

// nodes asks how a server sees its cluster.
func (s *RedisServer) nodes() (clusterNodes, error) {
	text, err := s.ask("CLUSTER", "NODES")
	if err != nil {
		return nil, err
	}
	var all clusterNodes
	for line := range strings.Lines(text) {
		// ID IP:PORT@BUS FLAGS MASTER PING PONG EPOCH LINK SLOT …
		fields := strings.Fields(line)
		if len(fields) < 8 {
			return nil, fmt.Errorf("CLUSTER NODES: line %q has %d fields, want 8 or more", line, len(fields))
		}
		addr, _, _ := strings.Cut(fields[1], "@")
		all = append(all, clusterNode{id: fields[0], addr: addr, flags: strings.Split(fields[2], ","), master: fields[3], slots: fields[8:]})
	}
	return all, nil
}

// roles says in the same words on every server that sees the cluster the same
// way, who has which slots and who copies whom.
func (all clusterNodes) roles() []string {
	var roles []string
	for _, n := range all {
		if !slices.Contains(n.flags, "fail") {
			roles = append(roles, strings.Join(append([]string{n.id, n.addr, n.master}, n.slots...), " "))
		}
	}
	slices.Sort(roles)
	return roles
}

// owner returns the address of the master of a slot, or nothing.
func (all clusterNodes) owner(slot int) string {
	for _, n := range all {
		for _, share := range n.slots {
			first, last, isRange := strings.Cut(share, "-")
			if !isRange {
				last = first
			}
			from, err1 := strconv.Atoi(first) // "[": a slot that moves is still with its owner
			to, err2 := strconv.Atoi(last)
			if err1 == nil && err2 == nil && from <= slot && slot <= to {
				return n.addr
			}
		}
	}
	return ""
}
