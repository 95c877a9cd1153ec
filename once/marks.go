package once

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Marks are sets of members without results: "was it done?". One reward per
// person: the set is the campaign, the member the person. Make one with NewMarks;
// it is safe for use by many goroutines.
//
// A mark comes before the deed: who crashes between First and the deed has marked
// somebody who got nothing. Where that matters, use FirstBy with a tag that a
// repetition has too, or Do, or the same SQL transaction for both.
type Marks struct{ store MarkStore }

// NewMarks returns the sets of a store.
func NewMarks(s MarkStore) (*Marks, error) {
	if s == nil {
		return nil, errors.New("once: a store is missing")
	}
	return &Marks{store: s}, nil
}

// First puts a member into a set, and is true for exactly one call, until the
// mark is undone or is no longer kept. After an error nobody knows whether the
// mark was set: FirstBy can be asked again.
func (m *Marks) First(ctx context.Context, set, member string) (bool, error) {
	first, err := m.each(ctx, set, "", []string{member})
	return first[0], err
}

// FirstBy is First for the bearer of a tag: asked again with the same tag, it is
// true again. The tag is that of the deed, an order number or the id of a message,
// so that a redelivery after a crash goes on with it. A store that keeps no tags
// answers ErrUnsupported.
func (m *Marks) FirstBy(ctx context.Context, set, member, tag string) (bool, error) {
	if err := CheckName("tag", tag); err != nil {
		return false, err
	}
	first, err := m.each(ctx, set, tag, []string{member})
	return first[0], err
}

// FirstEach is First for up to MaxMembers members of a set at once. Of a member that
// is named twice, at most the first naming is first. The answers are in the order
// of the members. The set changes in one step on Redis (of bitmaps: each 65,536
// ids) and in SQL.
func (m *Marks) FirstEach(ctx context.Context, set string, members []string) ([]bool, error) {
	return m.each(ctx, set, "", members)
}

func (m *Marks) each(ctx context.Context, set, tag string, members []string) ([]bool, error) {
	return m.ask(set, members, false, func(distinct []string, out []bool) error {
		return m.store.Mark(ctx, set, tag, distinct, out)
	})
}

// Undo takes a member out of a set, and is true if it was in: it can be first
// once more.
func (m *Marks) Undo(ctx context.Context, set, member string) (bool, error) {
	was, err := m.UndoEach(ctx, set, []string{member})
	return was[0], err
}

// UndoEach is Undo for up to MaxMembers members at once.
func (m *Marks) UndoEach(ctx context.Context, set string, members []string) ([]bool, error) {
	return m.ask(set, members, false, func(distinct []string, out []bool) error {
		return m.store.Unmark(ctx, set, distinct, out)
	})
}

// Has says whether a member is in a set.
func (m *Marks) Has(ctx context.Context, set, member string) (bool, error) {
	is, err := m.HasEach(ctx, set, []string{member})
	return is[0], err
}

// HasEach is Has for up to MaxMembers members at once.
func (m *Marks) HasEach(ctx context.Context, set string, members []string) ([]bool, error) {
	return m.ask(set, members, true, func(distinct []string, out []bool) error {
		return m.store.Marked(ctx, set, distinct, out)
	})
}

// Count counts the members of a set.
func (m *Marks) Count(ctx context.Context, set string) (int64, error) {
	if err := CheckName("set", set); err != nil {
		return 0, err
	}
	return m.store.Marks(ctx, set)
}

// Forget removes a set.
func (m *Marks) Forget(ctx context.Context, set string) error {
	if err := CheckName("set", set); err != nil {
		return err
	}
	return m.store.Clear(ctx, set)
}

// ask brings members into the form that stores are given, and the answers back
// into the order of the caller. What is named twice is answered once, or, where it
// is equal, always. The answers have the length of the members, also after an error.
func (m *Marks) ask(set string, members []string, equal bool, ask func([]string, []bool) error) ([]bool, error) {
	answers := make([]bool, len(members))
	if err := checkMembers(set, members); err != nil {
		return answers, err
	}
	if len(members) == 1 {
		return answers, ask(members, answers)
	}
	distinct := slices.Clone(members)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	out := make([]bool, len(distinct))
	if err := ask(distinct, out); err != nil {
		return answers, err
	}
	for i, name := range members {
		at, _ := slices.BinarySearch(distinct, name)
		answers[i] = out[at]
		out[at] = out[at] && equal
	}
	return answers, nil
}

func checkMembers(set string, members []string) error {
	if err := CheckName("set", set); err != nil {
		return err
	}
	if n := len(members); n == 0 || n > MaxMembers {
		return fmt.Errorf("%w: %d members; 1 to %d can be asked for at once", ErrName, n, MaxMembers)
	}
	for _, name := range members {
		if err := CheckName("member", name); err != nil {
			return err
		}
	}
	return nil
}
