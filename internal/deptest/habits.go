package deptest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
)

// maxLines is where a file has stopped being one thought long ago.
const maxLines = 800

// vague are folder names that say nothing of what is inside.
var vague = []string{"util", "utils", "common", "helpers", "helper", "types", "manager", "misc", "shared"}

// BrokenHabits returns everything that the house rules forbid in a file.
func (t *Tree) BrokenHabits() []string {
	var wrong []string
	for _, f := range t.Files {
		if f.Lines >= maxLines {
			wrong = append(wrong, fmt.Sprintf("%s has %d lines: a file is one thought", f.Path, f.Lines))
		}
		if slices.Contains(vague, path.Base(f.Folder)) {
			wrong = append(wrong, fmt.Sprintf("%s: the folder's name says nothing of what is inside", f.Path))
		}
		if f.Test {
			wrong = append(wrong, t.testHabits(f)...)
		} else {
			wrong = append(wrong, t.codeHabits(f)...)
		}
	}
	return append(wrong, t.state()...)
}

// forbiddenInTests are calls that make a test slow, shaky, or silent.
var forbiddenInTests = map[string]string{
	"time.Sleep":    "a test waits for a signal, not for time",
	"testing.Short": "a test that is left out proves nothing",
}

// testHabits looks at one test file.
func (t *Tree) testHabits(f *File) []string {
	var wrong []string
	ast.PreorderStack(f.AST, nil, func(n ast.Node, within []ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name := callee(call)
		if why, bad := forbiddenInTests[name]; bad {
			wrong = append(wrong, fmt.Sprintf("%s calls %s: %s", t.place(call), name, why))
		}
		switch receiver, method, _ := strings.Cut(name, "."); method {
		case "Skip", "Skipf", "SkipNow":
			if parameter(receiver, within) == "*rapid.T" {
				break // it discards a draw, not a test
			}
			wrong = append(wrong, fmt.Sprintf("%s calls %s: a missing server is a failed test, not a skipped one", t.place(call), name))
		}
		return true
	})
	return wrong
}

// parameter returns the type, as it is written, of the innermost function
// parameter of that name.
func parameter(name string, within []ast.Node) string {
	for i := len(within) - 1; i >= 0; i-- {
		var of *ast.FuncType
		switch fn := within[i].(type) {
		case *ast.FuncDecl:
			of = fn.Type
		case *ast.FuncLit:
			of = fn.Type
		default:
			continue
		}
		for _, field := range of.Params.List {
			for _, id := range field.Names {
				if id.Name == name {
					return types.ExprString(field.Type)
				}
			}
		}
	}
	return ""
}

// codeHabits looks at one file that is shipped.
func (t *Tree) codeHabits(f *File) []string {
	var wrong []string
	main := f.AST.Name.Name == "main"
	for _, d := range f.AST.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			wrong = append(wrong, t.place(fn)+" is an init: what happens at import cannot be configured or tested")
		}
	}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch name := callee(call); name {
		case "log.Fatal", "log.Fatalf", "log.Fatalln", "log.Panic", "log.Panicf":
			wrong = append(wrong, fmt.Sprintf("%s calls %s: errors are returned", t.place(call), name))
		case "os.Exit":
			if !main {
				wrong = append(wrong, t.place(call)+" calls os.Exit: only main ends the program")
			}
		}
		return true
	})
	return wrong
}

// callee names what is called as it is written: "time.Sleep".
func callee(call *ast.CallExpr) string {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if x, ok := sel.X.(*ast.Ident); ok {
		return x.Name + "." + sel.Sel.Name
	}
	return ""
}

// state finds package-level variables that something changes, or whose type is
// made to be changed. Each package is type-checked alone: what others export
// stays unknown, which is enough to tell variables apart.
func (t *Tree) state() []string {
	packages := map[string][]*ast.File{}
	for _, f := range t.Files {
		if !f.Test {
			key := f.Folder + " " + f.AST.Name.Name
			packages[key] = append(packages[key], f.AST)
		}
	}
	var wrong []string
	for _, files := range packages {
		wrong = append(wrong, t.stateOf(files)...)
	}
	slices.Sort(wrong)
	return wrong
}

func (t *Tree) stateOf(files []*ast.File) []string {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	check := types.Config{Importer: nobody{}, Error: func(error) {}}
	pkg, _ := check.Check("p", t.Fset, files, info) // errors are expected: the imports are missing
	var wrong []string
	changed := func(e ast.Expr) {
		if v, ok := info.Uses[rootOf(e)].(*types.Var); ok && v.Parent() == pkg.Scope() {
			wrong = append(wrong, fmt.Sprintf("%s changes the package-level %s: state belongs to a value that somebody made", t.place(e), v.Name()))
		}
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if n.Tok != token.DEFINE {
					for _, e := range n.Lhs {
						changed(e)
					}
				}
			case *ast.IncDecStmt:
				changed(n.X)
			}
			return true
		})
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
				wrong = append(wrong, t.changeable(g)...)
			}
		}
	}
	return wrong
}

// changeable finds package-level variables of package sync or sync/atomic, and
// channels.
func (t *Tree) changeable(g *ast.GenDecl) []string {
	var wrong []string
	for _, s := range g.Specs {
		ast.Inspect(s, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return false
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && (x.Name == "sync" || x.Name == "atomic") {
					wrong = append(wrong, t.place(n)+" is state of the package: state belongs to a value that somebody made")
				}
			case *ast.ChanType:
				wrong = append(wrong, t.place(n)+" is a channel of the package: state belongs to a value that somebody made")
			}
			return true
		})
	}
	return wrong
}

// rootOf returns x of x.f[i].g.
func rootOf(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.SelectorExpr:
		return rootOf(e.X)
	case *ast.IndexExpr:
		return rootOf(e.X)
	case *ast.ParenExpr:
		return rootOf(e.X)
	case *ast.StarExpr:
		return rootOf(e.X)
	}
	return nil
}

// nobody is an importer that has nothing.
type nobody struct{}

func (nobody) Import(string) (*types.Package, error) { return nil, errors.New("not looked at") }
