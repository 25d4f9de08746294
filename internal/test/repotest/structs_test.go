package repotest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// maxFields is how many fields a struct may have outside tests. More are several
// concepts, which are types that functions take alone.
const maxFields = 20

// maxLines is how many lines a function may have outside tests.
const maxLines = 80

// wide are the structs with more, which are formats or lists of wishes: they are filled in
// one place and read field by field.
var wide = map[string]string{
	"sandbox.Result": "what a run's summary says",
	"changes.Change": "a file of changes.json",
	"worker.Request": "a line that a client of the worker writes",
}

func TestStructsAndFunctionsAreOneConcept(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == ".git" || e.Name() == "testdata"):
			return filepath.SkipDir
		case e.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		places := token.NewFileSet()
		file, err := parser.ParseFile(places, name, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncDecl); ok && !strings.Contains(name, "/internal/test/") { // whose attacks are tables
				if lines := places.Position(f.End()).Line - places.Position(f.Pos()).Line + 1; lines > maxLines {
					t.Errorf("%s in %s has %d lines: split it", f.Name.Name, name, lines)
				}
			}
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			s, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			id := file.Name.Name + "." + spec.Name.Name
			if fields := s.Fields.NumFields(); fields > maxFields && wide[id] == "" {
				t.Errorf("%s in %s has %d fields: split it by concept", id, name, fields)
			}
			seen[id] = true
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for id := range wide {
		if !seen[id] {
			t.Errorf("%s is no struct any more", id)
		}
	}
}
