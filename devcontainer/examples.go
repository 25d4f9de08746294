package devcontainer

import (
	"bytes"
	"embed"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/release"
)

// exampleArchives holds one txtar archive per rule, with the files of its two
// examples below bad/ and good/. Images in them are those of the organisation
// "org".
//
//go:embed examples
var exampleArchives embed.FS

// Example is a small project that shows a rule: its files in the order in
// which they are shown.
type Example []txtar.File

// Bad returns the example that has a finding of this rule and no other.
func (r Rule) Bad() Example { return r.example("bad/") }

// Good returns the example without a finding.
func (r Rule) Good() Example { return r.example("good/") }

// example returns the files below a folder of the rule's archive, nil when it
// has none.
func (r Rule) example(folder string) Example {
	archive, err := exampleArchives.ReadFile("examples/" + r.ID + ".txtar")
	if err != nil {
		return nil // TestTableIsWhole fails
	}
	archive = bytes.ReplaceAll(archive, []byte("ghcr.io/org/"), []byte("ghcr.io/"+release.Org+"/"))
	var out Example
	for _, f := range txtar.Parse(archive).Files {
		if name, ok := strings.CutPrefix(f.Name, folder); ok {
			out = append(out, txtar.File{Name: name, Data: f.Data})
		}
	}
	return out
}

// Files returns the example as a tree to check.
func (e Example) Files() Memory {
	files := Memory{}
	for _, f := range e {
		files[f.Name] = string(f.Data)
	}
	return files
}

// String returns the text of a devcontainer.json that is the only file, and
// otherwise the files in txtar form.
func (e Example) String() string {
	if len(e) == 1 && e[0].Name == exampleFile {
		return string(e[0].Data)
	}
	return string(txtar.Format(&txtar.Archive{Files: e}))
}

// exampleFile is the name that an example's only file need not show.
const exampleFile = ".devcontainer/devcontainer.json"

// examplePolicy is the file of an example that is an organisation's policy.
const examplePolicy = "policy.jsonc"

// CheckExample checks the first of an example's files that can be checked: a
// configuration, a Feature or a Template.
func CheckExample(files Memory) ([]diag.Finding, error) {
	names := slices.Sorted(maps.Keys(files))
	isTemplate := func(name string) bool { return path.Base(name) == TemplateName }
	i := slices.IndexFunc(names, func(name string) bool {
		return slices.Contains([]string{"devcontainer.json", ".devcontainer.json"}, path.Base(name)) && !slices.ContainsFunc(names, isTemplate)
	})
	if i < 0 {
		i = max(0, slices.IndexFunc(names, isTemplate))
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
