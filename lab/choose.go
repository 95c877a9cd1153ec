package lab

import (
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Choose returns the ways that are meant: each word is a name, the beginning of
// names up to a dash (redis), or, where none begins so, their end (postgres). No
// word means all.
func Choose(words []string) ([]Way, error) {
	all := All()
	if len(words) == 0 {
		return all, nil
	}
	wanted := map[string]bool{}
	for _, word := range words {
		names := called(strings.ToLower(strings.TrimSpace(word)))
		if len(names) == 0 {
			return nil, unknown(word)
		}
		for _, name := range names {
			wanted[name] = true
		}
	}
	var ways []Way
	for _, w := range all {
		if wanted[w.Name] {
			ways = append(ways, w)
		}
	}
	return ways, nil
}

// called returns the names that a word stands for.
func called(word string) (names []string) {
	if word == "all" {
		return Names()
	}
	for _, fits := range []func(string) bool{
		func(name string) bool { return strings.HasPrefix(name+"-", word+"-") },
		func(name string) bool { return strings.HasSuffix(name, "-"+word) },
	} {
		for _, name := range Names() {
			if word != "" && fits(name) {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			return names
		}
	}
	return nil
}

// unknown says what may have been meant, or what there is.
func unknown(word string) error {
	meant := strings.ToLower(strings.TrimSpace(word))
	near, least := "", max(len(meant)/3, 1)+1 // more letters make another word
	for _, known := range known() {
		if d := levenshtein.ComputeDistance(meant, known); d < least && len(meant) > 1 {
			near, least = known, d
		}
	}
	if near != "" {
		return fmt.Errorf("--strategy %q: there is no such way: did you mean %s? --list shows them all", word, near)
	}
	return fmt.Errorf("--strategy %q: there is no such way; there are %s", word, strings.Join(Names(), ", "))
}

// known returns what Choose takes.
func known() (all []string) {
	for _, name := range Names() {
		all = append(all, name)
		for i, c := range name {
			if c == '-' {
				all = append(all, name[:i], name[i+1:])
			}
		}
	}
	return all
}

// Stopgap says that a way is a classic on SQLite: it is tried where no server is,
// or where somebody asks for it.
func (w *Way) Stopgap() bool { return w.Family == SQL && len(w.Needs) == 0 }

// Usual returns the names of the ways that are tried where all servers are and
// nobody asks for anything else.
func Usual() []string {
	var names []string
	for _, w := range All() {
		if !w.Stopgap() {
			names = append(names, w.Name)
		}
	}
	return names
}

// Names returns the names of all ways.
func Names() []string {
	var names []string
	for _, w := range All() {
		names = append(names, w.Name)
	}
	return names
}
