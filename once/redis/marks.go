package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"rushgate/once"
)

// Mark implements once.MarkStore.
func (s *Store) Mark(ctx context.Context, set, tag string, members []string, first []bool) error {
	if err := s.checkSet(set); err != nil {
		return err
	}
	switch s.opts.Marks {
	case Bitmap:
		if tag != "" {
			return fmt.Errorf("%w: a bitmap keeps no tags", once.ErrUnsupported)
		}
		return s.bits(ctx, set, "SETBIT", "1", members, first, false)
	case Hash:
		return s.tagged(ctx, set, tag, members, first)
	}
	if tag != "" {
		return fmt.Errorf("%w: a set keeps no tags", once.ErrUnsupported)
	}
	return s.each(ctx, s.marks(set), "SADD", "", members, first)
}

// Unmark implements once.MarkStore.
func (s *Store) Unmark(ctx context.Context, set string, members []string, was []bool) error {
	if err := s.checkSet(set); err != nil {
		return err
	}
	switch s.opts.Marks {
	case Bitmap:
		return s.bits(ctx, set, "SETBIT", "0", members, was, true)
	case Hash:
		return s.each(ctx, s.marks(set), "HDEL", "", members, was)
	}
	return s.each(ctx, s.marks(set), "SREM", "", members, was)
}

// Marked implements once.MarkStore.
func (s *Store) Marked(ctx context.Context, set string, members []string, is []bool) error {
	if err := s.checkSet(set); err != nil {
		return err
	}
	switch s.opts.Marks {
	case Bitmap:
		return s.bits(ctx, set, "GETBIT", "", members, is, true)
	case Hash:
		return s.each(ctx, s.marks(set), "HEXISTS", "", members, is)
	}
	return s.each(ctx, s.marks(set), "SISMEMBER", "", members, is)
}

// Marks implements once.MarkStore.
func (s *Store) Marks(ctx context.Context, set string) (int64, error) {
	if err := s.checkSet(set); err != nil {
		return 0, err
	}
	switch s.opts.Marks {
	case Bitmap:
		return s.countBits(ctx, set)
	case Hash:
		return number("count", s.client.Do(ctx, s.client.B().Hlen().Key(s.marks(set)).Build()))
	}
	return number("count", s.client.Do(ctx, s.client.B().Scard().Key(s.marks(set)).Build()))
}

// Clear implements once.MarkStore.
func (s *Store) Clear(ctx context.Context, set string) error {
	if err := s.checkSet(set); err != nil {
		return err
	}
	if s.opts.Marks == Bitmap {
		return s.clearBits(ctx, set)
	}
	return clearing(s.client.Do(ctx, s.client.B().Unlink().Key(s.marks(set)).Build()).Error())
}

// each runs a command for each member: itself for a single one that needs nothing
// else in the same step, otherwise in a script.
func (s *Store) each(ctx context.Context, key, command, more string, members []string, out []bool) error {
	keep := "0"
	if command == "SADD" || command == "SETBIT" && more == "1" {
		keep = millis(s.opts.KeepMarks)
	}
	if len(members) == 1 && keep == "0" {
		if command == "SADD" {
			n, err := number(command, s.client.Do(ctx, s.client.B().Sadd().Key(key).Member(members[0]).Build()))
			out[0] = n == 1
			return err
		}
		c := s.client.B().Arbitrary(command).Keys(key).Args(members[0])
		if more != "" {
			c = c.Args(more)
		}
		n, err := number(command, s.client.Do(ctx, c.Build()))
		out[0] = n == 1
		return err
	}
	args := append([]string{command, more, keep}, members...)
	return digits(command, s.run(ctx, s.scripts.each, []string{key}, args), out)
}

func (s *Store) tagged(ctx context.Context, set, tag string, members []string, first []bool) error {
	keep := millis(s.opts.KeepMarks)
	if len(members) == 1 && keep == "0" && tag == "" {
		n, err := number("HSETNX", s.client.Do(ctx, s.client.B().Arbitrary("HSETNX").Keys(s.marks(set)).Args(members[0], "").Build()))
		first[0] = n == 1
		return err
	}
	return digits("mark", s.run(ctx, s.scripts.tag, []string{s.marks(set)}, append([]string{tag, keep}, members...)), first)
}

// checkSet: a name that begins with } would be an empty hash tag, and the keys of
// the set would come to lie on several servers.
func (s *Store) checkSet(set string) error {
	if strings.HasPrefix(set, "}") {
		return fmt.Errorf("%w: the set %q begins with }", once.ErrName, set)
	}
	return nil
}

func number(what string, r rueidis.RedisResult) (int64, error) {
	n, err := r.AsInt64()
	if err != nil {
		return 0, fmt.Errorf("once: %s: %w", what, err)
	}
	return n, nil
}

// digits reads an answer of each.lua or tag.lua.
func digits(what string, r rueidis.RedisResult, out []bool) error {
	answer, err := r.ToString()
	if err == nil && len(answer) != len(out) {
		err = errors.New("a script answers with something else than a digit for each member")
	}
	if err != nil {
		return fmt.Errorf("once: %s: %w", what, err)
	}
	for i := range out {
		out[i] = answer[i] == '1'
	}
	return nil
}

func clearing(err error) error {
	if err != nil {
		return fmt.Errorf("once: clear: %w", err)
	}
	return nil
}
