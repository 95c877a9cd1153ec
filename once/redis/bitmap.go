package redis

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"rushgate/once"
)

// A bitmap is cut into segments, each a string of its own: SETBIT fills a string
// with zeros up to its offset, so that in a single one the id 4,294,967,295 alone
// would take 512 MiB (https://redis.io/docs/latest/commands/setbit).

// group is the members of a call that lie in one segment.
type group struct {
	offsets []string
	places  []int // in the call
}

// bits runs a command on the bits of members; the answers are what the bits were,
// or the opposite.
func (s *Store) bits(ctx context.Context, set, command, more string, members []string, out []bool, was bool) error {
	if len(members) == 1 { // as nearly all calls have
		n, offset, err := s.bit(members[0])
		if err == nil {
			err = s.each(ctx, s.segment(set, n), command, more, []string{offset}, out)
			out[0] = err == nil && out[0] == was
		}
		return err
	}
	groups, err := s.segments(members)
	if err != nil {
		return err
	}
	for _, n := range slices.Sorted(maps.Keys(groups)) {
		g := groups[n]
		bits := make([]bool, len(g.places))
		if err := s.each(ctx, s.segment(set, n), command, more, g.offsets, bits); err != nil {
			return err
		}
		for i, place := range g.places {
			out[place] = bits[i] == was
		}
	}
	return nil
}

func (s *Store) segments(members []string) (map[int]*group, error) {
	groups := map[int]*group{}
	for i, name := range members {
		n, offset, err := s.bit(name)
		if err != nil {
			return nil, err
		}
		if groups[n] == nil {
			groups[n] = &group{}
		}
		groups[n].offsets = append(groups[n].offsets, offset)
		groups[n].places = append(groups[n].places, i)
	}
	return groups, nil
}

// bit says where the bit of a member is: its segment, and its offset in that.
func (s *Store) bit(name string) (segment int, offset string, err error) {
	id, err := strconv.ParseUint(name, 10, 64)
	if err != nil || id > s.opts.MaxID || len(name) > 1 && name[0] == '0' {
		return 0, "", fmt.Errorf("%w: the member %q is not a number from 0 to %d", once.ErrName, name, s.opts.MaxID)
	}
	return int(id >> segmentBits), strconv.FormatUint(id&(1<<segmentBits-1), 10), nil
}

func (s *Store) countBits(ctx context.Context, set string) (sum int64, err error) {
	err = s.all(ctx, set, func(names []string) error {
		commands := make(rueidis.Commands, len(names))
		for i, name := range names {
			commands[i] = s.client.B().Bitcount().Key(name).Build()
		}
		for _, r := range s.client.DoMulti(ctx, commands...) {
			n, err := number("count", r)
			if err != nil {
				return err
			}
			sum += n
		}
		return nil
	})
	return sum, err
}

func (s *Store) clearBits(ctx context.Context, set string) error {
	return s.all(ctx, set, func(names []string) error {
		return clearing(s.client.Do(ctx, s.client.B().Unlink().Key(names...).Build()).Error())
	})
}

// all goes through the names of all segments that there may be: 2,048 with the
// default MaxID.
func (s *Store) all(ctx context.Context, set string, some func(names []string) error) error {
	const most = 512
	last := int(s.opts.MaxID >> segmentBits)
	for from := 0; from <= last; from += most {
		var names []string
		for n := from; n <= min(last, from+most-1); n++ {
			names = append(names, s.segment(set, n))
		}
		if err := some(names); err != nil {
			return err
		}
	}
	return ctx.Err()
}
