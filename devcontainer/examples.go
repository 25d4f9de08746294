package devcontainer

import (
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
)

// exampleFile is the file that an example is when it names none.
const exampleFile = ".devcontainer/devcontainer.json"

// examplePolicy is the file of an example that is an organisation's policy.
const examplePolicy = "policy.jsonc"

// ExampleFiles takes a rule's example apart: the files that it consists of.
func ExampleFiles(text string) Memory {
	if !strings.HasPrefix(text, "-- ") {
		return Memory{exampleFile: text}
	}
	files := Memory{}
	name := ""
	for _, line := range strings.SplitAfter(text, "\n") {
		if header, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "-- "); ok && strings.HasSuffix(header, " --") {
			name = strings.TrimSuffix(header, " --")
			files[name] = ""
			continue
		}
		files[name] += line
	}
	return files
}

// CheckExample judges the first of an example's files that is something to
// judge: a configuration, a Feature or a Template.
func CheckExample(files Memory) ([]diag.Finding, error) {
	names := sortedKeys(files)
	i := slices.IndexFunc(names, func(name string) bool {
		return slices.Contains([]string{"devcontainer.json", ".devcontainer.json"}, path.Base(name)) && !slices.ContainsFunc(names, func(n string) bool { return path.Base(n) == TemplateName })
	})
	if i < 0 {
		i = max(0, slices.IndexFunc(names, func(n string) bool { return path.Base(n) == TemplateName }))
	}
	p, err := Load(files, names[i], names[i])
	if err != nil {
		return nil, err
	}
	if text, ok := files[examplePolicy]; ok {
		org, findings := ParseOrg(examplePolicy, []byte(text))
		if org == nil {
			return findings, nil
		}
		p.Org = org
	}
	return Check(p), nil
}
