package settings

// SessionPresets are for a person's session in a dev container: the model and
// the login of Claude Code, and the editor. A run reaches the model through the
// tunnel and has no editor.
func SessionPresets() []string { return []string{"anthropic", "claude-code", "vscode"} }

// HostingPresets are those of git hosting. init writes one into every project's
// file, for the person who pushes from the dev container.
func HostingPresets() []string { return []string{"bitbucket", "github", "gitlab"} }
