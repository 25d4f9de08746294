package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall"
)

// instructionPaths are the project's own instructions and settings that Claude
// Code reads when a person starts it in the folder, slash-separated. A run
// starts it with --setting-sources user and --strict-mcp-config, so it reads
// none of them (measured with 2.1.329, by the request's text): a project's
// settings start programs and choose where the credential goes.
func instructionPaths() []string {
	return []string{
		"CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".claude/agents", ".claude/commands", ".claude/rules", ".claude/skills",
		".claude/settings.json", ".claude/settings.local.json", ".mcp.json",
	}
}

// unreadInstructions lists those of instructionPaths that dir has.
func unreadInstructions(dir string) (found []string) {
	for _, p := range instructionPaths() {
		if isFilled(filepath.Join(dir, filepath.FromSlash(p))) {
			found = append(found, p)
		}
	}
	return found
}

// isFilled reports whether a path is a file, or a folder that is not empty: a
// run that was killed leaves empty ones behind.
func isFilled(file string) bool {
	info, err := os.Stat(file)
	if err != nil {
		return false
	}
	if !info.IsDir() {
		return true
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	names, _ := f.Readdirnames(1) // an empty folder is an error, too
	return len(names) > 0
}

// notes says what the run leaves closed or unread although the project has it.
func notes(o Options, w *Workspace, mode firewall.Mode) (out []string) {
	if o.Project != nil && !o.TrustProject && (mode == firewall.ModeAllowlist || mode == "") {
		if _, hosting := devContainerPresets(o.Project.Network.Presets, o.User.Network.Presets); len(hosting) > 0 {
			open := "--preset " + strings.Join(hosting, " --preset ")
			if o.InputsNotFlags {
				open = "the input \"presets: " + strings.Join(hosting, ", ") + "\""
			}
			out = append(out, fmt.Sprintf("the project's sandbox.jsonc opens %s for its dev container; this run leaves that closed, and %s opens it", strings.Join(hosting, ", "), open))
		}
	}
	if closesGists(o.User.Network) && (mode == firewall.ModeAllowlist || mode == firewall.ModeAudit) {
		open := "--allow " + gists
		if o.InputsNotFlags {
			open = "the input \"allowed_domains: " + gists + "\""
		}
		out = append(out, fmt.Sprintf("the preset github leaves %s closed in a run, and %s opens it", gists, open))
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
