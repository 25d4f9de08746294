package firewall

import "slices"

// preset is a named list of allowlist entries.
type preset struct {
	name    string
	entries []string
}

// presets are sorted by name. A package ecosystem is named by its own domain
// with a wildcard, never by single hosts: those change, and the ecosystem's
// owner decides what is under the domain.
var presets = []preset{
	// What Claude Code itself needs with an API key or a subscription:
	// code.claude.com/docs/en/network-config.
	{"anthropic", []string{"*.anthropic.com", "claude.ai", "*.claude.ai", "claude.com", "*.claude.com"}},
	// The same with what an interactive session reads besides: the extension
	// bridge (claudeusercontent.com), the change log and the plugin
	// marketplace on GitHub. Same source.
	{"claude-code", []string{
		"*.anthropic.com", "claude.ai", "*.claude.ai", "claude.com", "*.claude.com",
		"*.claudeusercontent.com", "github.com", "*.githubusercontent.com",
	}},
	// www.debian.org/mirror/list: the mirrors that the project runs itself.
	{"debian", []string{"*.debian.org"}},
	// docs.docker.com/desktop/setup/allow-list. Layers that are stored at a
	// cloud's shared storage domain are not covered: a wildcard over that
	// domain would open everybody's storage.
	{"docker", []string{"docker.io", "*.docker.io", "*.docker.com"}},
	// docs.github.com, "About GitHub's domains" (also served as /meta). SSH is
	// port 22 of the main name; the same over 443 is under the wildcard.
	{"github", []string{
		"github.com", "github.com:22", "*.github.com", "*.githubusercontent.com", "*.githubassets.com",
		"ghcr.io", "*.ghcr.io",
	}},
	// docs.gitlab.com/user/gitlab_com (GitLab.com settings).
	{"gitlab", []string{"gitlab.com", "gitlab.com:22", "*.gitlab.com", "*.gitlab-static.net"}},
	// go.dev/ref/mod (module proxy and checksum database) and go.dev/dl.
	{"go", []string{"*.golang.org", "golang.org", "go.dev", "*.go.dev"}},
	// docs.npmjs.com; the runtime's own downloads are at nodejs.org.
	{"npm", []string{"*.npmjs.org", "*.npmjs.com", "nodejs.org", "*.nodejs.org", "*.yarnpkg.com"}},
	// docs.pypi.org: the index is the main name, files are under the wildcard.
	{"pypi", []string{"pypi.org", "*.pypi.org", "*.pythonhosted.org"}},
	// doc.rust-lang.org/cargo (registry) and rustup's documentation.
	{"rust", []string{"crates.io", "*.crates.io", "*.rust-lang.org"}},
	// docs.sentry.io: ingestion and the web interface.
	{"sentry", []string{"sentry.io", "*.sentry.io"}},
	// ubuntu.com/server/docs, and launchpad.net for personal archives.
	{"ubuntu", []string{"*.ubuntu.com", "*.launchpadcontent.net"}},
	// code.visualstudio.com/docs/setup/network: server downloads, updates,
	// marketplace, and what the editor loads inside a container.
	{"vscode", []string{
		"*.visualstudio.com", "*.vsassets.io", "vscode.dev", "*.vscode.dev",
		"*.vscode-cdn.net", "*.vscode-unpkg.net",
	}},
}

// PresetNames returns the names of all presets, sorted.
func PresetNames() []string {
	names := make([]string, len(presets))
	for i, p := range presets {
		names[i] = p.name
	}
	return names
}

// Preset returns the entries of the named preset, in the allowlist's own
// grammar; ok is false when there is none of that name.
func Preset(name string) (entries []string, ok bool) {
	i := slices.IndexFunc(presets, func(p preset) bool { return p.name == name })
	if i < 0 {
		return nil, false
	}
	return slices.Clone(presets[i].entries), true
}
