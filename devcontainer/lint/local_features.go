package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
)

// maxLocalFeatures bounds the Features of the repository that one configuration brings.
const maxLocalFeatures = 200

// aboutPublishing are rules about a Feature's way into a registry, which one that only its own
// repository uses does not go: its name, and the version that the reference CLI does without.
var aboutPublishing = []string{"SBX204", "SBX909"}

// addLocalFeatures reports what the rules find in the Features of the repository that the
// configuration uses, at its place in their own files: their rights, variables, commands and
// install.sh become a part of the container.
func (c *pass) addLocalFeatures() {
	if c.Root == nil || c.Tree == nil || c.Kind() != devcontainer.ConfigFile {
		return
	}
	seen := map[string]bool{}
	var next []string
	for _, f := range localFeatures(c.View) {
		if f.known { // SBX311 of the others
			next = append(next, f.Name)
		}
	}
	for len(next) > 0 {
		id := next[0]
		next = next[1:]
		name := path.Join(id, devcontainer.FeatureName)
		full, inside := c.Path(name)
		if !inside || seen[full] || c.Tree.Kind(full) != devcontainer.File {
			continue
		}
		if len(seen) == maxLocalFeatures {
			c.report(c.table.of["SBX109"], c.AtValue(c.Root.Member("features"),
				fmt.Sprintf("more than %d Features of this repository: the rest is not checked", maxLocalFeatures), "use fewer"))
			return
		}
		seen[full] = true
		p, err := devcontainer.Load(c.Tree, full, c.Quoted(name))
		if err != nil {
			continue // SBX109
		}
		feature := newPass(rule.NewView(p), c.table)
		feature.lessens = c.lessens
		feature.run()
		for _, doc := range p.Documents() {
			c.Also(doc) // its comments may excuse something
		}
		for _, f := range feature.sorted() {
			switch {
			case slices.Contains(aboutPublishing, f.Rule) && strings.Count(f.Pointer, "/") < 2: // not about a part, such as a mount
				continue
			case f.Rule == "SBX201": // often left over from the older format of Features, and ignored
				f.Severity = diag.SeverityWarning
			}
			c.add(f, nil)
		}
		for _, m := range p.Object().Member("dependsOn").Fields() {
			if rights.IsLocal(m.Name) {
				next = append(next, m.Name)
			}
		}
	}
}
