package repotest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// policyMakers are the functions that make a Policy of a Network, each with the one
// network that it reads. Everybody else is given the Policy with the settings, or asks
// it: Policy.With, Policy.Lacks, firewall.Validate. How often a command calls them is
// counted in cmd/sbx-devc/testdata/script/policies.txtar: once for each text of a file.
var policyMakers = map[string]string{
	"settings/network.go policy":                     "a file",
	"settings/accepted.go Accept":                    "flags and inputs, and layers that are put together",
	"devcontainer/rule/sandbox.go readFeaturePolicy": "the options of the firewall's Feature",
	"session/amend/words.go Line":                    "the answer of a running firewall",
}

// Two readers of one policy may come to differ, and a reader of the code asks which of
// them counts.
func TestAPolicyIsMadeOnce(t *testing.T) {
	calls := map[string]int{}
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == ".git" || e.Name() == "testdata" || name == filepath.Join(root, "firewall")):
			return filepath.SkipDir
		case e.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		for _, d := range file.Decls {
			where := filepath.ToSlash(rel)
			if f, ok := d.(*ast.FuncDecl); ok {
				where += " " + f.Name.Name
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "NewPolicy" {
					calls[where]++
				}
				return true
			})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range slices.Sorted(maps.Keys(calls)) {
		if policyMakers[where] == "" || calls[where] > 1 {
			t.Errorf("%s makes a policy %d times: take the one that the settings carry", where, calls[where])
		}
	}
	for where := range policyMakers {
		if calls[where] == 0 {
			t.Errorf("%s makes no policy any more", where)
		}
	}
}
