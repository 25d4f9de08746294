package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// shellForScript reports a shell that is given another shell's name as its script.
func shellForScript(h *hookReading, cmd *shell.Command) rule.Finding {
	words := cmd.Operands()
	if _, other := cmd.Flag("-c", "-s", "-o", "-O"); !cmd.Is("sh", "bash", "dash", "ash", "zsh") || other || len(words) < 2 {
		return rule.Finding{}
	}
	second := strings.TrimPrefix(strings.TrimPrefix(words[0].Text, "/usr"), "/bin/")
	if !slices.Contains([]string{"sh", "bash", "dash", "ash", "zsh"}, second) ||
		h.v.Tree != nil && h.v.Tree.Kind(path.Join(h.v.Home, second)) != devcontainer.Nothing {
		return rule.Finding{}
	}
	return rule.Finding{Message: fmt.Sprintf("%s takes the program %s for its script, and fails", cmd.Name(), words[0].Text),
		Hint: fmt.Sprintf("write one of the two: %s %s", cmd.Name(), words[1].Text)}
}

// containersOnHost reports the container's folder of projects in a command of the host. The host may be a container that has one.
func containersOnHost(h *hookReading, cmd *shell.Command) rule.Finding {
	if h.inside() || guarded.MatchString(h.node.Text) || cmd.Is("docker", "podman", "echo", "printf", "export", "git", "sed", "mkdir") {
		return rule.Finding{}
	}
	if !slices.ContainsFunc(cmd.Words, func(w shell.Word) bool { return strings.HasPrefix(w.Text, "/workspaces/") }) {
		return rule.Finding{}
	}
	if rule.Once(h.v, "the host has /workspaces", func(v *rule.View) bool {
		return slices.ContainsFunc(slices.Concat(v.Mounts(), v.ServiceMounts()), func(r rights.Right) bool {
			return strings.HasPrefix(r.Mount.Source, "/workspaces")
		})
	}) {
		return rule.Finding{}
	}
	for _, w := range cmd.Words {
		if strings.HasPrefix(w.Text, "/workspaces/") {
			return rule.Finding{Severity: diag.SeverityWarning,
				Message: fmt.Sprintf("initializeCommand runs on the host, and %s is a place in the container", w.Text),
				Hint:    "use onCreateCommand for what the container needs, or write ${localWorkspaceFolder}"}
		}
	}
	return rule.Finding{}
}

// mountedElsewhere reports /workspaces where workspaceMount has another target. Codespaces has the project there all the same.
func mountedElsewhere(h *hookReading, cmd *shell.Command) rule.Finding {
	own := h.v.Root.Member("workspaceMount")
	known := h.image.Official() || h.image.ForDevContainers()
	alone := known && h.v.Root.Member("image") != nil && !h.v.HasFeatures() && !h.v.ByCompose()
	if !h.inside() || !alone || own.TextOr("") == "" {
		return rule.Finding{}
	}
	asked := !cmd.Is("mkdir", "ln", "git", "echo", "printf", "export", "cp", "mv", "touch", "rm", "docker", "tee", "install", "test", "[")
	for _, w := range cmd.Words {
		if asked && strings.HasPrefix(w.Text, "/workspaces/") && !mounted("/workspaces", h.v.Mounts()) {
			return rule.Finding{Severity: diag.SeverityWarning,
				Message: fmt.Sprintf("the container has no /workspaces: the project is mounted at %s", rights.ParseMount(own.Text).Target),
				Hint:    "leave the path out, since hooks start in workspaceFolder; or write ${containerWorkspaceFolder}"}
		}
	}
	return rule.Finding{}
}

// writesProject matches commands that write into the folder that they run in.
var writesProject = lazyregexp.New(`^(npm (ci|install|i)|yarn( install)?|pnpm (install|i))$`)

// readOnlyProject reports an installation into a project that is mounted to be read alone.
func readOnlyProject(h *hookReading, cmd *shell.Command) rule.Finding {
	own := rights.ParseMount(h.v.Root.Member("workspaceMount").TextOr(""))
	folder := h.v.Root.Member("workspaceFolder").TextOr("")
	opened := own.ReadOnly && !h.v.ByCompose() && own.Target != "" && path.Clean(folder) == path.Clean(own.Target)
	there := h.inside() && h.node.Kind == jsonc.String && cmd.Folder == "."
	if !opened || !there || !writesProject.MatchString(joinedWords(cmd)) {
		return rule.Finding{}
	}
	if rule.Once(h.v, "a mount below the project", func(v *rule.View) bool { // such as a volume for node_modules
		return slices.ContainsFunc(v.Mounts(), func(r rights.Right) bool {
			return strings.HasPrefix(r.Mount.Target, "$") || strings.HasPrefix(r.Mount.Target, path.Clean(own.Target)+"/")
		})
	}) {
		return rule.Finding{}
	}
	return rule.Finding{Severity: diag.SeverityWarning,
		Message: fmt.Sprintf("%s writes into the project, which workspaceMount makes readonly", joinedWords(cmd)),
		Hint:    "leave readonly out, or mount a volume where it writes"}
}

// bashInScript reports a script of the project that sh is given and that only bash understands, where sh is dash.
func bashInScript(h *hookReading, cmd *shell.Command) rule.Finding {
	name, byPath := scriptOf(cmd)
	given := name != "" && !byPath && cmd.Is("sh", "dash") && cmd.Folder == "."
	if !given || !h.inside() || h.v.Tree == nil || !isDash(h.v) {
		return rule.Finding{}
	}
	folder, known := workspaceOnHost(h.v)
	full := path.Join(folder, name)
	if !known || devcontainer.LeavesTree(full) {
		return rule.Finding{}
	}
	text := rule.Once(h.v, "script "+full, func(v *rule.View) string {
		if src, err := v.Tree.Read(full); err == nil && len(src) <= 64<<10 {
			return string(src)
		}
		return ""
	})
	image, _ := baseimage.Of(h.v.BaseImage())
	found := onlyOfBashInScript(text, image)
	if found.what == "" {
		return rule.Finding{}
	}
	return rule.Finding{Severity: found.severity,
		Message: fmt.Sprintf("dash, the sh of %s, runs %s and does not know: %s", h.v.BaseImage(), name, found.what),
		Hint:    fmt.Sprintf("write bash %s", name)}
}

// onlyOfBashInScript is onlyOfBash of a whole script, which dash may have left before it comes there.
func onlyOfBashInScript(text string, image baseimage.Image) bashOnly {
	if text == "" || strings.ContainsAny(text, "\r\x00") || looksAtShell.MatchString(text) {
		return bashOnly{}
	}
	found := onlyOfBash(text, withoutPipefail(image))
	line := text[strings.LastIndexByte(text[:min(found.at, len(text))], '\n')+1:]
	switch {
	case found.what == "pipefail" && !strings.HasPrefix(line, "set "): // people ask whether a shell has it
		return bashOnly{}
	case found.what != "pipefail" || found.severity == "": // another line may end the script before
		found.severity = diag.SeverityWarning
	}
	return found
}

// looksAtShell matches scripts that look at the shell they run in.
var looksAtShell = lazyregexp.New(`BASH_VERSION|\$\{?BASH\b|exec\s+(/usr)?(/bin/)?(env\s+)?bash`)
