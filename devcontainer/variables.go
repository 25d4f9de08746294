package devcontainer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// reference is a variable as the reference CLI finds it.
var reference = regexp.MustCompile(`\$\{(.*?)\}`)

// knownVariables are those of the specification.
var knownVariables = []string{"localEnv", "containerEnv", "localWorkspaceFolder", "localWorkspaceFolderBasename",
	"containerWorkspaceFolder", "containerWorkspaceFolderBasename", "devcontainerId"}

// lifecycle lists the properties that hold commands. A shell reads them, so
// they may have variables of its own.
var lifecycle = append([]string{"initializeCommand"}, hooks...)

// beforeStart lists the properties that the container is made from.
var beforeStart = []string{"image", "build", "dockerFile", "context", "dockerComposeFile", "runArgs", "mounts", "workspaceMount",
	"workspaceFolder", "containerEnv", "containerUser", "appPort", "capAdd", "securityOpt"}

// variables looks at each ${…} of the file. Left alone is what others read:
// customizations belong to editors, Features to their scripts.
func (c *pass) variables() {
	for _, m := range c.root.Members {
		if m.Name == "customizations" || m.Name == "features" || m.Name == "settings" {
			continue
		}
		command := slices.Contains(lifecycle, m.Name)
		early := slices.Contains(beforeStart, m.Name)
		m.Value.Walk(func(n *jsonc.Node) {
			if n.Kind != jsonc.String || !strings.Contains(n.Text, "${") {
				return
			}
			for _, at := range reference.FindAllStringSubmatch(n.Text, -1) {
				c.variable(n, at[0], at[1], command, early)
			}
		})
	}
}

func (c *pass) variable(n *jsonc.Node, whole, inner string, command, early bool) {
	parts := strings.Split(inner, ":")
	name := parts[0]
	switch {
	case name == "templateOption":
		return // belongs to the family of templates
	case name == "localEnv" || name == "env" || name == "containerEnv":
		if len(parts) == 1 && !(command && name == "env") {
			c.at(n, "SBX306", fmt.Sprintf("%s names no variable", whole), fmt.Sprintf("write ${%s:NAME}", name))
			return
		}
		if len(parts) > 3 {
			c.at(n, "SBX305", fmt.Sprintf("the default of %s is %q to the reference CLI", whole, parts[2]), "choose a default without a colon, or set it where it is used")
		}
		if name == "env" && !command {
			c.at(n, "SBX307", fmt.Sprintf("%s is not in the specification", whole), "write ${localEnv:…}").fix(c.replaceIn(n, "${env:", "${localEnv:"))
		}
		if name == "containerEnv" && early {
			c.at(n, "SBX308", fmt.Sprintf("%s is not known yet when the container is made", whole), "use it in remoteEnv")
		}
	case !command && !slices.Contains(knownVariables, name):
		hint := "the text stays as it is; known are " + strings.Join(knownVariables, ", ")
		if best := diag.Suggest(name, knownVariables); best != "" {
			hint = fmt.Sprintf("did you mean ${%s}?", best)
		} else if name == "workspaceFolder" || name == "workspaceRoot" {
			hint = "did you mean ${containerWorkspaceFolder}?"
		}
		c.at(n, "SBX304", fmt.Sprintf("unknown variable %s", whole), hint)
	}
}

// replaceIn edits the source of a string value, if it has old literally.
func (c *pass) replaceIn(n *jsonc.Node, old, replacement string) []jsonc.Edit {
	src := string(c.Config.Src[n.Start:n.End])
	if !strings.Contains(src, old) {
		return nil
	}
	return jsonc.Replace(n, strings.ReplaceAll(src, old, replacement))
}
