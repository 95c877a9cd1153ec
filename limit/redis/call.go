package redis

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"rushgate/limit"
)

// What the script is asked to do.
const (
	actTake = "take"
	actLook = "look"
	actGive = "give"
)

// server runs one script on Redis.
type server struct {
	client  rueidis.Client
	script  *script
	timeout time.Duration

	clock func() int64 // in tests alone: what the script is given as time
}

// answer is what the script answers.
type answer []int64

func (a answer) now() int64 { return a[0] }

func (a answer) granted(i int) bool { return a[4*i+1] == 1 }

func (a answer) standing(i int) limit.Standing {
	return limit.Standing{A: a[4*i+2], B: a[4*i+3], C: a[4*i+4]}
}

// run runs the script for so many rules. It is not repeated when no answer
// comes: units may have been taken.
func (s *server) run(ctx context.Context, keys, args []string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if s.clock != nil {
		args = append(args, numbers(s.clock())...)
	}
	got, err := s.client.Do(ctx, s.client.B().Evalsha().Sha1(s.script.sha).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build()).AsIntSlice()
	if reply, answered := rueidis.IsRedisErr(err); answered && reply.IsNoScript() {
		got, err = s.client.Do(ctx, s.client.B().Eval().Script(s.script.body).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build()).AsIntSlice()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: Redis: %w", limit.ErrUnavailable, err)
	}
	if len(got) != 4*len(keys)+1 {
		return nil, fmt.Errorf("%w: the script answers with %d numbers for %d rules", limit.ErrUnavailable, len(got), len(keys))
	}
	return got, nil
}
