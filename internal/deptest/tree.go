package deptest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// module is the module's path, which its own imports begin with.
const module = "rushgate"

// Tree is the source of a module.
type Tree struct {
	Fset  *token.FileSet
	Files []*File
}

// File is one Go file.
type File struct {
	Path    string // from the module's root, with slashes
	Folder  string // "." for the root
	Test    bool
	Lines   int
	Imports []string
	AST     *ast.File
}

// Load reads every Go file of a module.
func Load(root fs.FS) (*Tree, error) {
	t := &Tree{Fset: token.NewFileSet()}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		return t.add(root, name)
	})
	return t, err
}

func (t *Tree) add(root fs.FS, name string) error {
	src, err := fs.ReadFile(root, name)
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(t.Fset, name, src, parser.ParseComments)
	if err != nil {
		return fmt.Errorf("parse %s: %w", name, err)
	}
	f := &File{Path: name, Folder: path.Dir(name), Test: strings.HasSuffix(name, "_test.go"),
		Lines: strings.Count(string(src), "\n"), AST: parsed}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("parse %s: import %s: %w", name, spec.Path.Value, err)
		}
		f.Imports = append(f.Imports, imported)
	}
	t.Files = append(t.Files, f)
	return nil
}

// place says where a node is, for a person to go to.
func (t *Tree) place(n ast.Node) string {
	p := t.Fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// folderOf returns the folder of one of our packages, and false for others.
func folderOf(imported string) (string, bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

// standard says that a package belongs to the standard library, whose paths
// have no dot in their first element.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	_, ours := folderOf(imported)
	return !ours && !strings.Contains(first, ".")
}

// within says that a folder is one of those, or lies below one of them.
func within(folder string, those ...string) bool {
	for _, that := range those {
		if folder == that || strings.HasPrefix(folder, that+"/") {
			return true
		}
	}
	return false
}
