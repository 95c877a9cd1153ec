package redis

import (
	"context"

	"github.com/redis/rueidis"
)

// OpenForgetful opens a gate that loses the first answer to every script, and
// sends it once more: as on a network that does so, but each time. With claims
// false, the answers to claims arrive.
func OpenForgetful(ctx context.Context, url string, opts Options, claims bool) (*Gate, error) {
	g, err := connect(ctx, url, opts)
	if err != nil {
		return nil, err
	}
	f := forgetful{Client: g.client}
	if !claims {
		f.arrives = g.scripts.claim.sha
	}
	g.client = f
	g.startWatching()
	return g, nil
}

// OpenWatched opens a gate that calls before each time that a load is to be ended.
func OpenWatched(ctx context.Context, url string, opts Options, before func()) (*Gate, error) {
	g, err := connect(ctx, url, opts)
	if err != nil {
		return nil, err
	}
	g.client = watched{g.client, g.scripts.loadEnd.sha, before}
	g.startWatching()
	return g, nil
}

type watched struct {
	rueidis.Client
	script string
	before func()
}

func (w watched) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	if words := cmd.Commands(); words[0] == "EVALSHA" && words[1] == w.script {
		w.before()
	}
	return w.Client.Do(ctx, cmd)
}

type forgetful struct {
	rueidis.Client
	arrives string // the hash of a script of which the answers arrive
}

func (f forgetful) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	if f.loses(cmd) {
		_ = f.Client.Do(ctx, cmd.Pin())
	}
	return f.Client.Do(ctx, cmd)
}

func (f forgetful) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	first := make([]rueidis.Completed, len(cmds))
	for i, cmd := range cmds {
		if !f.loses(cmd) {
			return f.Client.DoMulti(ctx, cmds...)
		}
		first[i] = cmd.Pin()
	}
	_ = f.Client.DoMulti(ctx, first...)
	return f.Client.DoMulti(ctx, first...)
}

// loses says that a command is a script of which the answer gets lost.
func (f forgetful) loses(cmd rueidis.Completed) bool {
	words := cmd.Commands()
	return words[0] == "EVALSHA" && words[1] != f.arrives
}
