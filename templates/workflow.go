package templates

import (
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/settings"
)

// WorkflowPath is where init --with-workflow writes.
const WorkflowPath = ".github/workflows/claude.yml"

//go:embed workflow.yml
var workflow string

// Workflow returns a GitHub workflow that runs Claude with the Action of this
// program's publisher, and allows what the sandbox.jsonc among files does, but
// for the presets that only a dev container needs: the project's own file may
// only narrow what the workflow allows. The token of its job can read, and only
// people who may write to the repository can start it.
func Workflow(files []File) (File, error) {
	for _, f := range files {
		if path.Base(f.Path) != devcontainer.SettingsName {
			continue
		}
		s, findings := settings.Parse(f.Path, f.Content, settings.NoFiles)
		if s == nil {
			return File{}, fmt.Errorf("%s: line %d: %s", f.Path, findings[0].Line, findings[0].Message)
		}
		text := strings.NewReplacer("ORG/", release.Org+"/",
			"PRESETS\n", block(runPresets(s.Network.Presets)), "ALLOW\n", block(s.Network.Allow)).Replace(workflow)
		return File{Path: WorkflowPath, Content: []byte(text)}, nil
	}
	return File{}, fmt.Errorf("no %s among the files", devcontainer.SettingsName)
}

// runPresets leaves out what a run does not need.
func runPresets(presets []string) []string {
	return slices.DeleteFunc(slices.Clone(presets), func(p string) bool {
		return slices.Contains(settings.SessionPresets(), p) || slices.Contains(settings.HostingPresets(), p)
	})
}

// block writes entries as the lines of a YAML block, where they are text
// whatever they hold. An entry has no line ends: the policy's grammar has none.
// If there is none it says so, in a comment of the Action's own lists.
func block(entries []string) string {
	if len(entries) == 0 {
		return "            # none\n"
	}
	var b strings.Builder
	for _, e := range entries {
		b.WriteString("            " + e + "\n")
	}
	return b.String()
}
