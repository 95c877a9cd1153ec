package redis

import (
	"context"
	"crypto/sha1" // the name by which Redis knows a script
	_ "embed"
	"encoding/hex"

	"github.com/redis/rueidis"
)

// The scripts. Each says at its head what it is given and what it answers.
var (
	//go:embed begin.lua
	beginLua string
	//go:embed renew.lua
	renewLua string
	//go:embed end.lua
	endLua string
	//go:embed forget.lua
	forgetLua string
	//go:embed each.lua
	eachLua string
	//go:embed tag.lua
	tagLua string
	//go:embed toggle.lua
	toggleLua string
)

// script is a Lua script and the hash by which a server that has it runs it.
type script struct{ body, sha string }

func newScript(body string) script {
	sum := sha1.Sum([]byte(body))
	return script{body: body, sha: hex.EncodeToString(sum[:])}
}

type scripts struct{ begin, renew, end, forget, each, tag, toggle script }

func newScripts() scripts {
	return scripts{begin: newScript(beginLua), renew: newScript(renewLua), end: newScript(endLua), forget: newScript(forgetLua),
		each: newScript(eachLua), tag: newScript(tagLua), toggle: newScript(toggleLua)}
}

// run runs a script by its hash, and sends the script itself to a server that does
// not have it.
func (s *Store) run(ctx context.Context, what script, keys, args []string) rueidis.RedisResult {
	n := int64(len(keys))
	r := s.client.Do(ctx, s.client.B().Evalsha().Sha1(what.sha).Numkeys(n).Key(keys...).Arg(args...).Build())
	if reply, ok := rueidis.IsRedisErr(r.Error()); ok && reply.IsNoScript() {
		return s.client.Do(ctx, s.client.B().Eval().Script(what.body).Numkeys(n).Key(keys...).Arg(args...).Build())
	}
	return r
}
