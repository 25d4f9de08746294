package obeyed

// Settings are the patterns, below the project's root, of settings that agents,
// editors and version control obey without asking and that an agent hardly has
// to change. A run mounts read-only what exists of them; new ones are shown at
// its end. Instructions such as CLAUDE.md, manifests and hooks are part of the
// work and are shown only.
func Settings() []string {
	return []string{
		".mcp.json", ".cursor", ".zed", ".helix", ".gemini", ".codex", ".opencode", "opencode.json", "opencode.jsonc", ".kiro", ".windsurf",
		".roo",
		".continue", ".amazonq", ".qwen", ".kilocode", "crush.json", ".crush.json", ".junie", ".factory", ".amp", ".augment", ".trae",
		".goose", ".openhands",
		".aider.conf.yml", ".fleet", ".vs", ".nova", ".theia", ".bsp", ".vim", ".nvim", ".nvim.lua", ".vimrc", ".nvimrc", ".gvimrc", ".exrc",
		".dir-locals.el", ".dir-locals-2.el", "*.code-workspace", "*.sublime-project",
		".hg/hgrc", ".hg/hgrc-not-shared", ".jj/repo/config.toml", ".sl/config", "rust-toolchain", "rust-toolchain.toml",
	}
}
