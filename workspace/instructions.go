package workspace

import (
	"os"
	"path/filepath"
)

// instructionPaths are the project's own instructions and settings that Claude
// Code reads when a person starts it in the folder, slash-separated. Started with
// --setting-sources user and --strict-mcp-config it reads none of them (measured
// with 2.1.329, by the request's text): a project's settings start programs and
// choose where the credential goes. A run brings some of them as text.
func instructionPaths() []string {
	return []string{
		"CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".claude/agents", ".claude/commands", ".claude/output-styles",
		".claude/rules", ".claude/skills",
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
	return !info.IsDir() || !isEmpty(file)
}
