package redis

import (
	"crypto/sha1" // the name by which Redis knows a script
	_ "embed"
	"encoding/hex"
	"strings"

	"rushgate/limit"
)

// The parts of the script. Each says at its head what it is given and what it
// answers.
var (
	//go:embed time.lua
	timeLua string
	//go:embed gcra.lua
	gcraLua string
	//go:embed window.lua
	windowLua string
	//go:embed counter.lua
	counterLua string
	//go:embed log.lua
	logLua string
	//go:embed one.lua
	oneLua string
	//go:embed decide.lua
	decideLua string
)

// script is a Lua script and the hash by which a server that has it runs it.
type script struct{ body, sha string }

// newScript makes the script that decides about rules of these kinds, with
// one.lua or decide.lua at its end: of no more parts than they need, for all of
// it is run each time.
func newScript(time, end string, rules []rule) *script {
	var b strings.Builder
	b.WriteString(time)
	b.WriteString("local kinds = {}\n")
	for _, part := range []struct{ kinds, body string }{
		{string(limit.KindGCRA), gcraLua},
		{string(limit.KindFixed) + string(limit.KindAligned), windowLua},
		{string(limit.KindCounter), counterLua},
		{string(limit.KindLog), logLua},
	} {
		if strings.ContainsAny(part.kinds, letters(rules)) {
			b.WriteString(part.body)
		}
	}
	b.WriteString(end)
	s := &script{body: b.String()}
	sum := sha1.Sum([]byte(s.body))
	s.sha = hex.EncodeToString(sum[:])
	return s
}
