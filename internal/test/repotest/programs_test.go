package repotest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestProgramsOfTheHostAreFoundInOnePlace: code that runs on the host looks programs up with
// hostprogram.Find, which refuses those that an agent can write.
func TestProgramsOfTheHostAreFoundInOnePlace(t *testing.T) {
	// tests, the containers' side, and programs of others
	elsewhere := []string{"internal/hostprogram", "internal/test", "firewall/kernel", "initproc", "examples"}
	finds := 0
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, file)
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if d.Name() == "testdata" || d.Name() == "node_modules" || rel != "." && strings.HasPrefix(d.Name(), ".") ||
				slices.Contains(elsewhere, rel) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			from, name := selected(call.Fun)
			if from == "hostprogram" && name == "Find" {
				finds++
			}
			program := map[string]int{"Command": 0, "CommandContext": 1}
			at, starts := program[name]
			if from == "exec" && starts && len(call.Args) > at {
				_, starts = call.Args[at].(*ast.BasicLit)
			}
			if from == "exec" && (starts || name == "LookPath") {
				t.Errorf("%s looks a program up by exec.%s: take hostprogram.Find", rel, name)
			}
			return true
		})
		return nil
	})
	if err != nil || finds < 10 {
		t.Fatalf("found %d calls of hostprogram.Find: %v", finds, err)
	}
}

// selected is x and Name of x.Name.
func selected(fun ast.Expr) (x, name string) {
	if s, ok := fun.(*ast.SelectorExpr); ok {
		if id, ok := s.X.(*ast.Ident); ok {
			return id.Name, s.Sel.Name
		}
	}
	return "", ""
}
