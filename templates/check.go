package templates

import (
	"fmt"
	"maps"
	"slices"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/diag"
)

// configFile is where every template has its configuration.
const configFile = ".devcontainer/devcontainer.json"

// Check judges rendered files as 'sbx-devc validate' judges files on the disk,
// sorted by position, and returns what they say. facts are the project's: a git repository's
// hooks and configuration must be protected, and mounted paths are there. The error says
// that there is no devcontainer.json among the files.
func Check(files []File, facts Facts) (*devcontainer.Project, []diag.Finding, error) {
	tree := devcontainer.Memory{}
	for _, f := range files {
		tree[f.Path] = string(f.Content)
	}
	if len(facts.Pinned) > 0 {
		tree[".git/HEAD"] = ""
	}
	for _, p := range facts.ReadOnly {
		tree[p+"/"] = "" // a folder, or as good as one
	}
	p, err := devcontainer.Load(tree, configFile, configFile)
	if err != nil {
		return nil, nil, err
	}
	return p, lint.Check(p), nil
}

// Variations returns no option, and then each proposed value of each option alone.
func (t *Template) Variations() []map[string]string {
	all := []map[string]string{{}}
	for _, name := range slices.Sorted(maps.Keys(t.Options)) {
		for _, value := range slices.Concat(t.Options[name].Enum, t.Options[name].Proposals) {
			all = append(all, map[string]string{name: value})
		}
	}
	return all
}

// Problems says what is wrong with the template under these options, above a note.
func (t *Template) Problems(options map[string]string) []string {
	files, err := t.Render(options)
	if err != nil {
		return []string{err.Error()}
	}
	_, findings, err := Check(files, Facts{})
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, f := range findings {
		if f.Severity.AtLeast(diag.SeverityWarning) {
			out = append(out, fmt.Sprintf("%s:%d: %s: %s [%s]", f.File, f.Line, f.Severity, f.Message, f.Rule))
		}
	}
	return out
}
