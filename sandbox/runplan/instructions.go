package runplan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/agent"
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
			out = append(out, fmt.Sprintf("the project's sandbox.jsonc opens %s for its dev container; this run leaves that closed, and %s "+
				"opens it", strings.Join(hosting, ", "), open))
		}
	}
	if ClosesGists(o.users().Network) && (mode == firewall.ModeAllowlist || mode == firewall.ModeAudit) {
		open := "--allow " + Gists
		if o.InputsNotFlags {
			open = "the input \"allowed_domains: " + Gists + "\""
		}
		out = append(out, fmt.Sprintf("the preset github leaves %s closed in a run, and %s opens it", Gists, open))
	}
	if filters := slices.DeleteFunc(slices.Clone(w.Filters), func(f string) bool { return f == "lfs" }); len(filters) > 0 {
		out = append(out, "git in the sandbox has none of this machine's filters ("+strings.Join(filters, ", ")+" in .gitattributes): "+
			"the agent commits the whole content of such files, unless the image brings the filter")
	}
	if w.Owner.IsDefault && !o.InputsNotFlags &&
		slices.ContainsFunc(w.Git.Repositories, func(r gitdir.Repository) bool { return len(r.Stores) > 0 }) {
		out = append(out, fmt.Sprintf("git on this machine names no author: the agent's commits are by %s <%s>; "+
			"'git config --global user.name NAME' and 'git config --global user.email ADDRESS' name one", w.Owner.Name, w.Owner.Email))
	}
	if unread := slices.DeleteFunc(slices.Clone(w.Unread), o.Instructions.reads); len(unread) > 0 {
		out = append(out, o.Instructions.note(unread, o.InputsNotFlags))
	}
	if left := o.Instructions.LeftOut; len(left) > 0 {
		shown := left[:min(len(left), maxLeftOut)]
		out = append(out, fmt.Sprintf("Claude does not get %d of the instructions: %s%s", len(left), strings.Join(shown, ", "),
			strings.Repeat(", …", min(len(left)-len(shown), 1))))
	}
	return out
}

// maxLeftOut bounds the instructions that a note lists.
const maxLeftOut = 20

// Instructions says what Claude reads of the project's instructions and settings.
// The zero value is nothing.
type Instructions struct {
	Memory   bool     // CLAUDE.md, .claude/CLAUDE.md and .claude/rules, as text
	Texts    bool     // sandbox.Host.Home holds its skills, commands, agents and output styles
	Settings bool     // its settings with their hooks, and by them all of the above
	MCP      bool     // the servers in .mcp.json
	LeftOut  []string // instructions that sandbox.Host.Home lacks, each with the reason
}

// MemoryNotice is a text for the system prompt of a run that reads the project's
// CLAUDE.md. Claude does not find those of its folders by itself there.
const MemoryNotice = "Folders of the project may have a CLAUDE.md of their own: read it before you work in such a folder."

// reads reports whether Claude reads one of workspace.Workspace.Unread.
func (i Instructions) reads(name string) bool {
	switch name {
	case "CLAUDE.md", ".claude/CLAUDE.md", ".claude/rules":
		return i.Memory || i.Settings
	case ".mcp.json":
		return i.MCP
	case ".claude/skills", ".claude/commands", ".claude/agents", ".claude/output-styles":
		return i.Texts || i.Settings
	}
	return i.Settings
}

// note says what Claude does not read, and what makes it.
func (i Instructions) note(unread []string, inputs bool) string {
	text := fmt.Sprintf("Claude does not read %s in a run", strings.Join(unread, ", "))
	if inputs {
		return text + ": its instructions are the prompt and CLAUDE.md"
	}
	var ways []string
	for _, way := range []struct {
		of []string
		by string
	}{
		{[]string{".claude/skills", ".claude/commands", ".claude/agents", ".claude/output-styles"}, "--trust-project brings the texts"},
		{[]string{".claude/settings.json", ".claude/settings.local.json", "CLAUDE.local.md"}, "--project-settings the settings with their hooks"},
		{[]string{".mcp.json"}, "--project-mcp the servers"},
	} {
		if slices.ContainsFunc(way.of, func(name string) bool { return slices.Contains(unread, name) }) {
			ways = append(ways, way.by)
		}
	}
	return text + "; when you have read them: " + strings.Join(ways, ", ")
}

// of completes what Claude is started with, in the folder workDir.
func (i Instructions) of(h agent.Headless, workDir string) agent.Headless {
	h.ProjectSettings = i.Settings
	if i.MCP {
		h.MCPConfigs = append(slices.Clone(h.MCPConfigs), WorkspaceTarget+"/.mcp.json")
	}
	if !i.Memory || i.Settings {
		return h
	}
	h.AppendSystemPrompt = strings.TrimSpace(h.AppendSystemPrompt + "\n" + MemoryNotice)
	for at := workDir; ; at = path.Dir(at) {
		h.MemoryOf = append([]string{at}, h.MemoryOf...)
		if at == WorkspaceTarget {
			return h
		}
	}
}

// UserSettings are Claude's own in a run: no text of a project or of the user starts
// a command by being read.
const UserSettings = `{"disableSkillShellExecution":true}`
