package templates

import (
	_ "embed"
	"fmt"
	"path"
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
// program's publisher, and allows what the sandbox.jsonc among files does: the
// project's own file may only narrow what the workflow allows. The token of its
// job can read, and only people who may write to the repository can start it.
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
			"PRESETS\n", block(s.Network.Presets), "ALLOW\n", block(s.Network.Allow)).Replace(workflow)
		return File{Path: WorkflowPath, Content: []byte(text)}, nil
	}
	return File{}, fmt.Errorf("no %s among the files", devcontainer.SettingsName)
}

// block writes entries as the lines of a YAML block, where they are text
// whatever they hold. An entry has no line ends: the policy's grammar has none.
func block(entries []string) string {
	var b strings.Builder
	for _, e := range entries {
		b.WriteString("            " + e + "\n")
	}
	return b.String()
}
