package runplan

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/agent/structured"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/workspace"
)

// Options is what a run is asked to be. All of it but Project comes from the
// user or the workflow and is trusted.
type Options struct {
	ID   string // names the containers and the state folder: lower case letters, digits, "-"
	Name string // by which a person calls the run; "" = its id alone

	Layers
	Folders
	Containers
	Environment
	ModelUse
	Claude
}

// Layers are the settings that a run is made of, by whose they are.
type Layers struct {
	// User holds what flags and variables say. Below it stand the project's file, Own
	// and Defaults().
	User settings.Settings
	// Own is the user's file of settings for all projects; paths in it are absolute or
	// begin with "~/".
	Own settings.Settings
	// Project is the project's own sandbox.jsonc; nil = it has none. It may
	// only narrow, unless TrustProject says that somebody has read it.
	Project      *settings.Settings
	TrustProject bool
	// AcceptCommand is the command with which a user accepts Project for longer, for
	// hints; "" = sbx-devc trust.
	AcceptCommand string
	// InputsNotFlags is set in the Action, whose users have no flags: hints name
	// its inputs.
	InputsNotFlags bool
}

// Words are those for people with a command line, or in the Action those for a workflow's author.
func (l Layers) Words(command, workflow string) string {
	if l.InputsNotFlags {
		return workflow
	}
	return command
}

// Folders are those of the project and of the agent's home.
type Folders struct {
	// Binaries has the diff of the run's changes hold binary files, as a program applies them.
	Binaries bool

	// Remote says that the engine is on another machine, which has not the files of this
	// one: by default the agent gets a clone of the project.
	Remote     bool
	Tree       string   // a path on this machine for a copy of the project, in the modes that make one; it must not exist
	Persist    []string // paths of the agent's home that outlive the run, as HomePaths returns them
	KeepClaude bool     // a profile keeps what of Claude's own folder does not act
	OwnFolders []string // of this program's files on this machine, absolute; none is ever mounted
	// ProjectDir is the folder whose settings and dev container the run has, where that is
	// a part of the workspace; "" = it is the workspace.
	ProjectDir string
	Folder     string // where in the project the agent begins, slash-separated; "" = at its root
	// CommitLeft makes a commit of what the agent left uncommitted, on its branch.
	CommitLeft bool
	// AcceptReadOnly says that the user knows that the agent cannot change the project.
	AcceptReadOnly bool
}

// Containers says of what a run's two containers are made, and how they are held.
type Containers struct {
	Image         string // of the agent, when neither User nor a trusted Project names one
	FirewallImage string // of the sidecar; no file of the project's can name it
	OCIRuntime    string // that the agent's container runs in, by the engine's name for it; "" = the engine's own
	EngineNetwork string // network of the engine that the sidecar joins, to reach services on it; "" = the engine's default
	// Canaries proves while the run goes on that the firewall holds, see sandbox.Canaries.
	Canaries bool
	// AcceptNoFirewall says that the user knows what mode host is.
	AcceptNoFirewall bool
}

// Environment is what the agent's programs find, and what of the settings it lacks.
type Environment struct {
	Environ []string // the caller's environment, NAME=value, for EnvPrefixes; nothing else of it is passed on
	// Variables are what the user gives the agent, NAME=value. They win over those of
	// EnvPrefixes and of the settings, and may hold secrets.
	Variables  []string
	MCPServers []string // names of the MCP servers that start; nil = all
	// Passthroughs are MCP servers of this machine's that the agent may ask.
	Passthroughs []Passthrough
	// Providers are the user's. Programs find the first one by variables; see
	// credproxy.ProviderPath.
	Providers []settings.Provider
	NoSecrets []string // names of secrets that the run does without, whoever asks for them
}

// ModelUse says how the model API may be used, and when a run that uses it badly ends.
type ModelUse struct {
	// AllowHostedWeb lets the model's provider search and fetch pages for the
	// agent, which no firewall on this side sees.
	AllowHostedWeb bool
	// IdleTimeout ends a run whose Claude writes nothing and asks the model nothing for
	// this time; 0 = never.
	IdleTimeout time.Duration
	// Patience is for how long an overloaded model API is asked again before Claude hears
	// of it; 0 = Claude hears at once. See credproxy.Options.
	Patience time.Duration
	// MaxRepeats ends an agent that makes the same calls with the same results so
	// often; 0 = never. See credproxy.Limits.
	MaxRepeats int
}

// Claude says what runs in the agent's container, and what it is told.
type Claude struct {
	Headless agent.Headless
	// ClaudePath is where Claude Code is in the agent's image; "" = not named,
	// and it is at DefaultClaudePath or comes from a volume, see Plan.MountClaude.
	// It is absolute: a name would be looked up in folders that the agent's
	// variables choose.
	ClaudePath string
	// Instructions says what Claude reads of the project's instructions and settings.
	Instructions Instructions
	// Schema is what the answer must fit; nil = it is text.
	Schema *structured.Schema

	// Terminal gives the agent a terminal, for a person: Claude Code shows its own
	// interface there, or with Shell the image's shell does in its place.
	Terminal bool
	Shell    bool
	// Session names the conversation on a terminal that Headless.Resume does not, as
	// conversation.NewID does.
	Session string

	// Hold keeps the sandbox up for sandbox.Held, without an agent of its own. Headless is
	// what each of its prompts begins with.
	Hold bool

	// Command replaces Claude Code, for tests of the sandbox; nil = Claude Code.
	Command []string
}

// Facts is what New must know of the machine.
type Facts struct {
	Workspace *workspace.Workspace // see Inspect
	// HostAddresses are those of this machine that no network of the sandbox's
	// shows; see HostAddresses. None is allowed.
	HostAddresses []netip.Addr
}

// users is everything that the user says, without the project.
func (l Layers) users() settings.Settings { return Overlay(l.Own, l.User) }

// flags are User with what a run keeps closed although the user's preset opens it.
func (l Layers) flags() settings.Settings {
	flags := l.User
	if ClosesGists(l.users().Network) {
		flags.Network.Deny = append(slices.Clone(flags.Network.Deny), Gists)
	}
	return flags
}

// withoutProject are the settings of a run of which the project says nothing.
func (o Options) withoutProject() (settings.Settings, error) {
	s := Overlay(Overlay(Defaults(), o.Own), o.flags())
	s.Secrets = o.wantedSecrets(s.Secrets)
	s.EnvPrefixes = o.prefixes(s.EnvPrefixes)
	if err := o.checkServers(s.MCP.Servers); err != nil {
		return settings.Settings{}, err
	}
	s.MCP.Servers = o.namedServers(s.MCP.Servers)
	return s, nil
}

// Effective puts the layers together: defaults, the user's file, the project's, flags. It
// returns the settings of a run with their policy, as Plan takes them, but for the image
// where no layer names one. It errs with ErrWidens for a project's file that asks for more
// than the user allowed.
func (o Options) Effective() (settings.Accepted, error) {
	base, err := o.withoutProject()
	if err != nil {
		return settings.Accepted{}, err
	}
	if o.Project == nil {
		return accept(base)
	}
	asked := *o.Project
	asked.Secrets = o.wantedSecrets(asked.Secrets)
	if o.TrustProject {
		return o.trusted(asked, base.Secrets)
	}
	if o.MCPServers != nil { // those that the user names are accepted, and no other one starts
		base.MCP.Servers = o.namedServers(settings.MergeMCPServers(asked.MCP.Servers, base.MCP.Servers))
		asked.MCP.Servers = nil
	}
	offer := func(found []wide) string { return offerFlags(found, cmp.Or(o.AcceptCommand, "sbx-devc trust")) }
	if o.InputsNotFlags {
		offer = offerInputs
	}
	named := cmp.Or(base.Image, asked.Image) // the file may name the one that the run has anyway
	base.Image = cmp.Or(base.Image, o.Image)
	s, err := narrow(base, o.flags(), asked, offer)
	s.Image = named
	return s, err
}

// trusted are the settings of a run whose project's file, asked, the user has accepted.
// secrets are the user's.
func (o Options) trusted(asked settings.Settings, secrets []settings.Secret) (settings.Accepted, error) {
	s := Overlay(Defaults(), o.Own)
	if asked.Network.Presets != nil { // the file's lists take the place of the default ones
		s.Network.Presets = nil
	}
	if asked.Network.Allow != nil {
		s.Network.Allow = nil
	}
	asked.Network.Presets = trustedPresets(asked, o.users().Network.Presets)
	s = Overlay(Overlay(s, asked), o.flags())
	s.EnvPrefixes = o.prefixes(s.EnvPrefixes)
	s.MCP.Servers = o.namedServers(s.MCP.Servers)
	var err error
	if s.Secrets, err = trustedSecrets(asked.Secrets, secrets); err != nil {
		return settings.Accepted{}, err
	}
	return accept(s)
}
