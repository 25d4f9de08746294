package sandbox

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/workspace"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// notes says what the run leaves closed or unread although the project has it.
func notes(o Options, w *workspace.Workspace, mode firewall.Mode) (out []string) {
	if o.Project != nil && !o.TrustProject && (mode == firewall.ModeAllowlist || mode == "") {
		if _, hosting := devContainerPresets(o.Project.Network.Presets, o.users().Network.Presets); len(hosting) > 0 {
			open := "--preset " + strings.Join(hosting, " --preset ")
			if o.InputsNotFlags {
				open = "the input \"presets: " + strings.Join(hosting, ", ") + "\""
			}
			out = append(out, fmt.Sprintf("the project's sandbox.jsonc opens %s for its dev container; this run leaves that closed, and %s opens it", strings.Join(hosting, ", "), open))
		}
	}
	if closesGists(o.users().Network) && (mode == firewall.ModeAllowlist || mode == firewall.ModeAudit) {
		open := "--allow " + gists
		if o.InputsNotFlags {
			open = "the input \"allowed_domains: " + gists + "\""
		}
		out = append(out, fmt.Sprintf("the preset github leaves %s closed in a run, and %s opens it", gists, open))
	}
	if w.Owner.IsDefault && slices.ContainsFunc(w.Git.Repositories, func(r gitdir.Repository) bool { return len(r.Stores) > 0 }) {
		out = append(out, fmt.Sprintf("git on this machine names no author: the agent's commits are by %s <%s>; "+
			"'git config --global user.name NAME' and 'git config --global user.email ADDRESS' name one", w.Owner.Name, w.Owner.Email))
	}
	if len(w.Unread) > 0 {
		text := fmt.Sprintf("Claude does not read %s in a run: its instructions are the prompt", strings.Join(w.Unread, ", "))
		if i := slices.IndexFunc(w.Unread, func(p string) bool { return strings.HasSuffix(p, ".md") }); i >= 0 {
			text += fmt.Sprintf("; to follow %[1]s, let the prompt say \"read %[1]s first\"", w.Unread[i])
		}
		out = append(out, text)
	}
	return out
}
