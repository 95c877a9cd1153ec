package redis

import (
	"context"
	"crypto/sha1" // the name by which Redis knows a script
	_ "embed"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"rushgate/lock"
)

// The scripts, in parts: see New. Each says at its head what it is given;
// key.lua, with which each begins, what it answers.
var (
	//go:embed key.lua
	keyLua string
	//go:embed acquire_usual.lua
	acquireUsualLua string
	//go:embed release_alone.lua
	releaseAloneLua string
	//go:embed renew_alone.lua
	renewAloneLua string
	//go:embed claims.lua
	claimsLua string
	//go:embed acquire.lua
	acquireLua string
	//go:embed renew.lua
	renewLua string
	//go:embed release.lua
	releaseLua string
)

// script is a Lua script and the hash by which a server that has it runs it.
type script struct{ body, sha string }

func newScript(parts ...string) *script {
	s := &script{body: strings.Join(parts, "\n")}
	sum := sha1.Sum([]byte(s.body))
	s.sha = hex.EncodeToString(sum[:])
	return s
}

// run is one run of a script.
type run struct {
	script     *script
	keys, args []string
}

func (b *Backend) call(s *script, c *lock.Claim, extra ...string) run {
	alone := b.prefix + "{" + c.Key + "}"
	args := make([]string, 0, 10)
	args = append(args, b.memory, b.wakes, c.Owner, c.Token, strconv.FormatInt(milliseconds(c.Lease), 10))
	return run{s, []string{alone, alone + ":claims", alone + ":line", alone + ":fence"}, append(args, extra...)}
}

// milliseconds are rounded up: the server's lease must not be the shorter one.
func milliseconds(d time.Duration) int64 {
	return (d + time.Millisecond - 1).Milliseconds()
}

// do runs scripts, each in one step, and says what each answered. A server that
// does not know one by its hash is sent the script itself.
func (b *Backend) do(ctx context.Context, calls []run) []lock.Answer {
	answers := make([]lock.Answer, len(calls))
	results := b.send(ctx, calls, false)
	var again []run
	var places []int
	for i, r := range results {
		if e, ok := rueidis.IsRedisErr(r.Error()); ok && e.IsNoScript() {
			again, places = append(again, calls[i]), append(places, i)
			continue
		}
		answers[i] = read(r)
	}
	if len(again) > 0 {
		for n, r := range b.send(ctx, again, true) {
			answers[places[n]] = read(r)
		}
	}
	return answers
}

func (b *Backend) send(ctx context.Context, calls []run, whole bool) []rueidis.RedisResult {
	commands := make([]rueidis.Completed, len(calls))
	for i, c := range calls {
		if whole {
			commands[i] = b.client.B().Eval().Script(c.script.body).Numkeys(int64(len(c.keys))).Key(c.keys...).Arg(c.args...).Build()
		} else {
			commands[i] = b.client.B().Evalsha().Sha1(c.script.sha).Numkeys(int64(len(c.keys))).Key(c.keys...).Arg(c.args...).Build()
		}
	}
	if len(commands) == 1 {
		return []rueidis.RedisResult{b.client.Do(ctx, commands[0])}
	}
	return b.client.DoMulti(ctx, commands...)
}

// read takes an answer apart.
func read(r rueidis.RedisResult) lock.Answer {
	if err := r.Error(); err != nil {
		return lock.Answer{Err: explain(err)}
	}
	n, err := r.AsIntSlice()
	if err != nil || len(n) != 4 || n[0] < int64(lock.Granted) || n[0] > int64(lock.Gone) {
		return lock.Answer{Err: fmt.Errorf("a lock script is answered %v: %w", n, err)}
	}
	return lock.Answer{State: lock.State(n[0]), Fence: uint64(n[1]), Left: time.Duration(n[2]) * time.Microsecond, Ahead: int(n[3])}
}

// explain tells a server that may answer another time from one that refuses.
// (https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors
// says only that the first word is the kind.)
func explain(err error) error {
	reply, answered := rueidis.IsRedisErr(err)
	if !answered {
		return fmt.Errorf("%w: %w", lock.ErrUnavailable, err)
	}
	switch kind, _, _ := strings.Cut(reply.Error(), " "); kind {
	case "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "READONLY", "NOREPLICAS", "BUSY", "UNKILLABLE", "OOM", "MISCONF":
		return fmt.Errorf("%w: the server refuses for now: %w", lock.ErrUnavailable, err)
	}
	return fmt.Errorf("the server refuses: %w", err)
}
