package lint

import (
	"maps"
	"path"
	"slices"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/org"
	"github.com/org/claude-sandbox/internal/diag"
)

// examplePolicy is the file of an example that is an organisation's policy.
const examplePolicy = "policy.jsonc"

// CheckExample checks the first of an example's files that can be checked: a
// configuration, a Feature or a Template.
func CheckExample(files devcontainer.Memory) ([]diag.Finding, error) {
	names := slices.Sorted(maps.Keys(files))
	isTemplate := func(name string) bool { return path.Base(name) == devcontainer.TemplateName }
	i := slices.IndexFunc(names, func(name string) bool {
		return slices.Contains([]string{"devcontainer.json", ".devcontainer.json"}, path.Base(name)) && !slices.ContainsFunc(names, isTemplate)
	})
	if i < 0 {
		i = max(0, slices.IndexFunc(names, isTemplate))
	}
	p, err := devcontainer.Load(files, names[i], names[i])
	if err != nil {
		return nil, err
	}
	if text, ok := files[examplePolicy]; ok {
		org, findings := org.Parse(examplePolicy, []byte(text))
		if org == nil {
			return findings, nil
		}
		p.Org = org
	}
	return Check(p), nil
}
