package run

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/settings"
)

// SettingsFlags are those flags that stand for settings.
type SettingsFlags struct {
	network       string
	allow         []string
	whitelist     []string
	whitelistFile string
	presets       []string
	deny          []string
	private       []string
	instructions  []string // the user's, below ~/.claude
	image         string
	limits        limitFlags
	Secrets       SecretFlags
	Mcp           mcpFlags
	workspace     workspaceFlags

	persist *[]string // of profileFlags, for "@FILE" among its values; nil = there are none
}

func (o *SettingsFlags) Title() string { return "What the agent reaches" }

func (o *SettingsFlags) Register(f *pflag.FlagSet) {
	f.StringVar(&o.network, "network", "",
		"none, allowlist (what --allow and --preset name), audit (the internet, recorded) or host (no firewall) (default allowlist)")
	cli.Entries(f, &o.allow, "allow", "open a destination: HOST, *.DOMAIN, HOST:PORT, NETWORK:PORT, operations there, or @FILE")
	cli.Entries(f, &o.whitelist, "whitelist", "the same as --allow")
	f.StringVar(&o.whitelistFile, "whitelist-file", "", "the same as --allow @FILE")
	f.StringSliceVar(&o.presets, "preset", nil, "open a named list of hosts, such as npm or pypi; github leaves gist.github.com closed")
	f.StringSliceVar(&o.deny, "deny", nil, "deny a destination; wins over everything that allows it")
	f.StringSliceVar(&o.private, "private", nil, "a name that may resolve to a private address")
	cli.Group(f, obeysTitle, func(f *pflag.FlagSet) {
		f.StringSliceVar(&o.instructions, "user-instructions", nil,
			"your own instructions that Claude gets: CLAUDE.md, skills, agents/NAME.md and the like, below ~/.claude")
	})
	cli.Group(f, containersTitle, func(f *pflag.FlagSet) {
		f.StringVar(&o.image, "image", "",
			"the agent's image, which needs none of our programs (default: of the dev container if you accepted it, else of the project's template)")
	})
	cli.Group(f, "Folders", o.workspace.Register)
	cli.Group(f, "Limits", o.limits.Register)
	cli.Group(f, "Variables and secrets", o.Secrets.Register)
	cli.Group(f, "MCP servers", o.Mcp.Register)
}

func (o *SettingsFlags) check(f *pflag.FlagSet) error {
	return o.limits.check(f)
}

// plan adds what is no setting: those need the project's folder, see read.
func (o *SettingsFlags) plan(p *runplan.Options) {
	p.NoSecrets, p.MCPServers, p.Passthroughs = o.Secrets.NoSecrets, o.Mcp.Servers, o.Mcp.passthroughs
}

// maxList bounds a list among the project's files, in bytes.
const maxList = 4 << 20

// Read turns the flags into the user's settings. Lists among the project's own
// files are protected: they are the user's word, so the agent must not change them.
func (o *SettingsFlags) Read(project string) (settings.Settings, error) {
	given := settings.Given{Settings: settings.Settings{Image: o.image}}
	given.Read = func(name string) ([]byte, error) {
		name = homePath(name)
		if rel, ok := session.InProject(name, project); ok {
			given.Workspace.Protect = append(given.Workspace.Protect, filepath.ToSlash(rel))
			return filekind.Read(name, maxList)
		}
		return os.ReadFile(name)
	}
	given.Instructions = given.Expand("--user-instructions", o.instructions)
	if o.persist != nil {
		*o.persist = given.Expand("--persist", *o.persist)
	}
	mode := o.network
	if mode == "whitelist" { // the word of older tools
		mode = string(firewall.ModeAllowlist)
	}
	given.Mode("--network", mode)
	given.Entries("presets", "--preset", o.presets)
	given.Entries("allow", "--allow", o.allow)
	given.Entries("allow", "--whitelist", o.whitelist)
	if o.whitelistFile != "" {
		given.Entries("allow", "--whitelist-file", []string{"@" + o.whitelistFile})
	}
	given.Entries("deny", "--deny", o.deny)
	given.Entries("private", "--private", o.private)
	o.Secrets.give(&given)
	if err := o.Mcp.give(&given, project); err != nil {
		return settings.Settings{}, err
	}
	o.limits.give(&given)
	if err := o.workspace.give(&given); err != nil {
		return settings.Settings{}, err
	}
	s, bad := given.Accept()
	if bad != nil {
		return settings.Settings{}, exitcode.With(exitcode.Usage, diag.OrHint(bad[0], "see 'sbx-devc run --help'"))
	}
	return s.Settings, nil
}

// homePath puts the user's home in the place of "~/": shells do so only at the
// beginning of a word, and not in @~/hosts.txt.
func homePath(name string) string {
	rest, ok := strings.CutPrefix(name, "~/")
	if !ok {
		return name
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return name
	}
	return filepath.Join(home, rest)
}
