package lab

import (
	"fmt"
	"strings"
)

// Choose returns the ways that are meant: each word is a name, or the beginning
// of names up to a dash. No word means all.
func Choose(words []string) ([]Way, error) {
	all := All()
	if len(words) == 0 {
		return all, nil
	}
	wanted := map[string]bool{}
	for _, word := range words {
		found := false
		for _, w := range all {
			if word == "all" || w.Name == word || strings.HasPrefix(w.Name, word+"-") {
				wanted[w.Name], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("--strategy %q: there is no such way; there are %s", word, strings.Join(Names(), ", "))
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
