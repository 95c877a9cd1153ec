package redis

import (
	"fmt"
	"strings"

	"github.com/redis/rueidis"
)

// ailment is an error of Redis that people meet, with the mend.
type ailment struct {
	begins  string // the error does
	means   string
	passing bool // it may be over in a moment: asking again helps
}

// ailments returns them. (https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors
// says only that the first word is the kind; the rest is from the servers' sources.)
func ailments() []ailment {
	return []ailment{
		{"OOM ", "Redis is full: raise maxmemory, or sell less at a time; nothing was granted", false},
		{"MISCONF ", "Redis cannot write its snapshot and refuses changes: mend its disk, or set stop-writes-on-bgsave-error no", false},
		{"READONLY ", "this Redis is a read-only replica: name the master in the URL, or use sentinel=NAME", true},
		{"NOREPLICAS ", "Redis has fewer replicas than min-replicas-to-write asks for: start them, or lower the setting", true},
		{"LOADING ", "Redis is still reading its data from disk", true},
		{"MASTERDOWN ", "this Redis is a replica whose master is away", true},
		{"CLUSTERDOWN ", "the Redis cluster does not serve all slots", true},
		{"TRYAGAIN ", "the Redis cluster moves these keys at this moment", true},
		{"NOAUTH ", "Redis wants a password: redis://:PASSWORD@host or redis://USER:PASSWORD@host", false},
		{"WRONGPASS ", "Redis refuses the user or the password in the URL", false},
		{"NOPERM ", "the Redis user may not do this: allow it EVALSHA, EVAL, PUBLISH, SUBSCRIBE, INFO and all keys of the prefix", false},
		{"BUSY ", "another script keeps Redis busy: see SCRIPT KILL", true},
		{"UNKILLABLE ", "another script keeps Redis busy and has written already", true},
		{"ERR max number of clients", "Redis takes no more connections: raise maxclients", true},
	}
}

// passing says that an error of Redis may be over in a moment.
func passing(message string) bool {
	for _, a := range ailments() {
		if strings.HasPrefix(message, a.begins) {
			return a.passing
		}
	}
	return false
}

// explain puts the mend before an error of Redis.
func explain(err error) error {
	reply, ok := rueidis.IsRedisErr(err)
	if !ok {
		return unreachable(err)
	}
	for _, a := range ailments() {
		if strings.HasPrefix(reply.Error(), a.begins) {
			return fmt.Errorf("%s: %w", a.means, err)
		}
	}
	return fmt.Errorf("the server refuses: %w", err)
}
