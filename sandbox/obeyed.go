package sandbox

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Beside settings.HostPaths, programs on the host obey more files of a project.
// A missing one has nothing behind it that somebody once approved, so nothing
// stands in for it.
var (
	// agentAndEditorSettings name servers, language servers and hooks that agents
	// and editors start when the folder is opened. Claude Code remembers the
	// servers of .mcp.json that somebody has approved by their names, whatever
	// command comes there later. They are protected where they exist.
	agentAndEditorSettings = []string{
		".mcp.json", ".cursor", ".zed", ".helix", ".gemini", ".codex", ".opencode", "opencode.json", "opencode.jsonc",
		".kiro", ".windsurf", ".roo", ".continue", ".amazonq", ".qwen", ".fleet", ".nvim.lua", ".exrc", "*.code-workspace",
	}
	// trustedFiles run programs by a hook or a prompt that somebody has set up on
	// this machine, and are code of the project that an agent may have to change.
	trustedFiles = []string{
		".pre-commit-config.yaml", "lefthook.y*ml", ".lefthook.y*ml", "lefthook.toml", "lefthook-local.y*ml", ".lintstagedrc*",
		"mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".mise/config.toml", ".config/mise.toml", ".config/mise/config.toml",
		".git/rebase-merge/git-rebase-todo", ".git/worktrees/*/rebase-merge/git-rebase-todo", // for "git rebase --continue"
		".envrc", ".envrc.*", "flake.nix", "shell.nix", "devbox.json", "devenv.nix",
	}
)

// existing lists what the patterns match in dir, slash-separated, with what it is.
func existing(dir string, patterns []string) map[string]Kind {
	found := map[string]Kind{}
	for _, pattern := range patterns {
		matches, _ := filepath.Glob(filepath.Join(escapeGlob(dir), filepath.FromSlash(pattern))) // the patterns are ours and good
		for _, file := range matches {
			rel, err := filepath.Rel(dir, file)
			if kind, kindErr := kindOf(file); err == nil && kindErr == nil && kind != Missing {
				found[filepath.ToSlash(rel)] = kind
			}
		}
	}
	return found
}

// protectable lists what exists of agents' and editors' settings. Nothing can be
// mounted over a link, so one is only looked at afterwards.
func protectable(dir string) (rels []string) {
	for rel, kind := range existing(dir, agentAndEditorSettings) {
		if kind == File || kind == Folder {
			rels = append(rels, rel)
		}
	}
	slices.Sort(rels)
	return rels
}

// escapeGlob makes a folder's name one that matches itself alone.
func escapeGlob(name string) string {
	if os.PathSeparator == '\\' {
		return name // there is no escape, and the worst is that nothing matches
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(name)
}

// obeyed is what trustedFiles and agentAndEditorSettings held at a time: of a file
// a digest, of a link where it leads, of others what they are.
type obeyed map[string]string

func findObeyed(dir string) obeyed {
	found := obeyed{}
	for rel, kind := range existing(dir, slices.Concat(trustedFiles, agentAndEditorSettings)) {
		file, what := filepath.Join(dir, filepath.FromSlash(rel)), string(kind)
		switch kind {
		case File: // and nothing else, as to open a pipe takes for ever
			if text, err := readStart(file, maxConfig); err == nil {
				what += fmt.Sprintf(" %x", sha256.Sum256(text))
			}
		case Symlink:
			target, _ := os.Readlink(file)
			what += " " + target
		}
		found[rel] = what
	}
	return found
}

func readStart(file string, limit int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// changes says in a sentence what is new or different in dir, "" if nothing is.
func (before obeyed) changes(dir string) string {
	var changed []string
	for rel, what := range findObeyed(dir) {
		if before[rel] != what {
			changed = append(changed, rel)
		}
	}
	if len(changed) == 0 {
		return ""
	}
	slices.Sort(changed)
	return fmt.Sprintf("written in %s since the run began: %s; agents, editors, prompts and hooks on this machine run what such files name, some without asking again: look at them (cat, git diff) before you commit there, open the folder or go there with a shell",
		dir, strings.Join(changed, ", "))
}
