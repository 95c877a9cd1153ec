package deptest

import (
	"fmt"
	"slices"
)

// Arrow is one rule about who may import whom. It speaks of what is shipped:
// tests may reach further.
type Arrow struct {
	From   []string // these folders, and those below them; "." is the root alone; nil is everybody
	Except []string // … but not these
	// Only lists the folders of ours that they may import, with those below;
	// Never lists those that they may not, not even through others of ours.
	Only  []string
	Never []string
	Why   string
}

// adapters are the packages that stand between a port and one client library.
var adapters = []string{"gate", "ledger", "relay"}

// blocks are the packages that anybody may take without the rest.
var blocks = []string{"lock", "limit", "once", "id", "draw"}

// arrows are the rules of docs/design.md, "Folders, and who may import whom".
var arrows = []Arrow{
	{From: []string{"."}, Only: []string{},
		Why: "the domain tells its story on its own ports; whoever it knew would have to be read first"},
	{From: adapters, Only: []string{".", "ledger/entry"},
		Why: "an adapter turns one port into one library; if it knew another adapter, neither could be replaced"},
	{From: []string{"server"}, Only: []string{".", "admission", "limit", "internal"},
		Why: "the API speaks with the service, so that it is the same on every gate and ledger"},
	{From: []string{"admission"}, Only: []string{".", "limit"},
		Why: "who may ask is decided before, and without, knowing how it is served"},
	{From: []string{"client"}, Only: []string{},
		Why: "a program that only calls the API must not carry the engine"},
	{From: []string{"cmd/rushgate"}, Only: []string{".", "app", "client", "bench", "lab", "internal"},
		Why: "a command parses flags and calls app; wiring in two places comes apart"},
	{From: blocks, Never: []string{"."},
		Why: "the building blocks are importable on their own"},
	{From: []string{"lock"}, Except: []string{"lock/locktest"}, Only: []string{"lock"}, Never: []string{"lock/locktest"},
		Why: "a lock is taken out and used alone: it imports nothing of ours outside its folder, and does not carry its tests"},
	{From: []string{"bench/load"}, Only: []string{},
		Why: "the generator measures any server that speaks the API, so it must not know ours"},
	{From: []string{"internal"}, Except: []string{"internal/testenv"}, Only: []string{"internal"},
		Why: "what is internal is below everything else"},
	{Except: []string{"cmd", "app", "bench", "examples", "lab"}, Never: []string{"app", "cmd", "bench", "lab", "examples"},
		Why: "the program is made of the packages, not the packages of the program"},
	{From: []string{"gate", "ledger", "relay", "server", "admission", "client", "app", "cmd"},
		Except: []string{"gate/gatetest", "ledger/ledgertest", "relay/relaytest"},
		Never:  []string{"gate/gatetest", "ledger/ledgertest", "relay/relaytest", "internal/testenv", "internal/deptest"},
		Why:    "what is shipped does not carry its tests"},
}

// outside is what the root must not import of the standard library.
var outside = []string{"net", "os", "database/sql", "syscall"}

const whyOutside = "the domain does no input and output: clock, randomness, disk and network come in from outside, so that every decision can be replayed"

// BrokenArrows returns every import that a rule forbids.
func (t *Tree) BrokenArrows() []string {
	var wrong []string
	graph := t.graph()
	for _, f := range t.Files {
		if f.Test {
			continue
		}
		for _, imported := range f.Imports {
			for i := range arrows {
				if arrows[i].applies(f.Folder) && arrows[i].forbids(f.Folder, imported, graph) {
					wrong = append(wrong, fmt.Sprintf("%s imports %s: %s", f.Path, imported, arrows[i].Why))
				}
			}
			if f.Folder == "." && (!standard(imported) && imported != module || standard(imported) && within(imported, outside...)) {
				wrong = append(wrong, fmt.Sprintf("%s imports %s: %s", f.Path, imported, whyOutside))
			}
		}
	}
	return wrong
}

// applies says that the rule is about a folder.
func (a *Arrow) applies(folder string) bool {
	return !within(folder, a.Except...) && (a.From == nil || within(folder, a.From...))
}

// forbids says that the rule forbids a folder an import. What lies below a
// folder is always its own.
func (a *Arrow) forbids(importer, imported string, graph map[string][]string) bool {
	folder, ours := folderOf(imported)
	if !ours {
		return false
	}
	if a.Only != nil && !within(folder, a.Only...) && !within(folder, importer) {
		return true
	}
	return slices.ContainsFunc(reach(folder, graph), func(f string) bool {
		return within(f, a.Never...)
	})
}

// graph returns which of our folders each of our folders imports.
func (t *Tree) graph() map[string][]string {
	g := map[string][]string{}
	for _, f := range t.Files {
		for _, imported := range f.Imports {
			if to, ours := folderOf(imported); ours && !f.Test {
				g[f.Folder] = append(g[f.Folder], to)
			}
		}
	}
	return g
}

// reach returns a folder and everything of ours that it imports, also through
// others.
func reach(folder string, graph map[string][]string) []string {
	seen := []string{folder}
	for i := 0; i < len(seen); i++ {
		for _, next := range graph[seen[i]] {
			if !slices.Contains(seen, next) {
				seen = append(seen, next)
			}
		}
	}
	return seen
}
