package repotest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// maxOperators is how many && and || one expression may have outside tests. More hide a
// decision, whose parts get names: a predicate function, or a variable with a word of the field.
const maxOperators = 4

func TestConditionsAreShort(t *testing.T) {
	for name, text := range productFiles(t) {
		places := token.NewFileSet()
		file, err := parser.ParseFile(places, name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range conditions(file) {
			if c.operators > maxOperators {
				t.Errorf("%s has %d of && and ||, the most is %d: name its parts", places.Position(c.at), c.operators, maxOperators)
			}
		}
	}
}

// condition is a whole expression of && and ||.
type condition struct {
	at        token.Pos
	operators int
}

// conditions returns those of a file. A function literal within one has its own.
func conditions(file *ast.File) (found []condition) {
	var inside func(c *condition) func(ast.Node) bool
	inside = func(c *condition) func(ast.Node) bool {
		return func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				ast.Inspect(n.Body, inside(nil))
				return false
			case *ast.BinaryExpr:
				if n.Op != token.LAND && n.Op != token.LOR {
					return true
				}
				if c != nil {
					c.operators++
					return true
				}
				whole := condition{at: n.Pos()}
				ast.Inspect(n, inside(&whole))
				found = append(found, whole)
				return false
			}
			return true
		}
	}
	ast.Inspect(file, inside(nil))
	return found
}

// A literal's own conditions count apart from the one that it stands in.
func TestConditionsAreCounted(t *testing.T) {
	const text = `package p
func f(a, b, c bool) bool {
	_ = a == b
	if a && (b || !c) { return a }
	return a || g(func() bool { return a && b && c }) || b
}`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	var counts []int
	for _, c := range conditions(file) {
		counts = append(counts, c.operators)
	}
	if want := []int{2, 2, 2}; !slices.Equal(counts, want) {
		t.Errorf("operators of the conditions: %v, want %v", counts, want)
	}
}
