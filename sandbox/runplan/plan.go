package runplan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/workspace"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// Labels that every container of a run carries, so that a later clean-up finds
// what a killed run left behind.
const (
	LabelRun       = "sbx-devc.run"       // the run's id
	LabelRole      = "sbx-devc.role"      // roleSidecar or "agent"
	LabelWorkspace = "sbx-devc.workspace" // the folder on the host that the agent gets
	LabelProject   = "sbx-devc.project"   // that of the settings: the same, or a part of it
	LabelName      = "sbx-devc.name"      // Options.Name
	LabelMode      = "sbx-devc.mode"      // workspace.Mode; containers without it have the project mounted

	// LabelFolder is how editors and the devcontainer command mark the container of a
	// folder (containers.dev, reference implementation).
	LabelFolder = "devcontainer.local_folder"
)

// Places in the containers.
const (
	WorkspaceTarget = "/workspace" // where the agent sees the project

	AgentHome   = "/home/agent"
	PolicyPath  = "/etc/sbx/sandbox.jsonc"
	RecordsPath = "/run/sbx"
	AuditPath   = RecordsPath + "/audit.jsonl"

	// InitFolder is a volume of the firewall's container. The agent's, whose
	// image may be anybody's, mounts it read-only.
	InitFolder = "/.sbx"

	// ClaudeHomes holds a volume of the firewall's container, which is Claude's own
	// folder in the agent's: it can be filled before the agent starts, and read
	// when it has ended.
	ClaudeHomes = "/.sbx-claude"
	ClaudeHome  = ClaudeHomes + "/home"
	AgentInit   = InitFolder + "/sbx-init"
)

// Plan is a run before it happens. Its printed form holds no secret, and neither do the
// containers' configurations.
type Plan struct {
	ID      string            `json:"id"`
	Name    string            `json:"name,omitempty"`
	Network firewall.Network  `json:"network"` // the policy in force
	Sidecar engine.Spec       `json:"sidecar"`
	Agent   engine.Spec       `json:"agent"`             // its network is the sidecar's, known when that exists
	Project *workspace.Mounts `json:"project"`           // how the agent's container shows the project
	Timeout Duration          `json:"timeout,omitempty"` // 0 = none
	Budgets []spending.Budget `json:"budgets,omitempty"` // of the model API
	Models  [][]string        `json:"models,omitempty"`  // that may be asked, see credproxy.Limits
	Keys    []Key             `json:"keys,omitempty"`    // that stay on this machine; sandbox.Host has their values
	Handed
	Warnings []string `json:"warnings,omitempty"`
	Notes    []string `json:"notes,omitempty"` // what the run leaves closed or unread, and the user may not expect

	Asked  Options          `json:"-"` // of which it is the plan
	Policy *firewall.Policy `json:"-"` // of Network
	Place  Place            `json:"-"`
	Disk   int64            `json:"-"` // bytes; 0 = no limit

	open    openLimits
	selinux bool // mounts get labels, see fitLabels
}

// Handed is what the agent's first process gets for the agent alone, in no configuration
// of a container.
type Handed struct {
	Passed  []string `json:"passed,omitempty"`  // names of variables
	MCP     []string `json:"mcp,omitempty"`     // names of the MCP servers that Claude starts
	Secrets []Secret `json:"secrets,omitempty"` // as Passed, or as files; sandbox.Host has their values

	variables []string // Passed with their values, NAME=value
	servers   []byte   // Claude's list of MCP servers; nil = none
	hidden    []string // values of it that may be secrets
}

// Place is where on the host a run works, how, and as whom.
type Place struct {
	Mode   workspace.Mode
	Folder string       // the project's
	Git    gitdir.Facts // its repositories
	Owner  gitdir.Owner // the agent's user, and as whom it commits
	LFS    bool         // files of the project are Git LFS's
	closed error        // see Closed
}

// Duration is a time.Duration that prints as "30m0s".
type Duration time.Duration

// MarshalText prints the duration as Go writes it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Plan decides everything about a run and touches nothing. accepted is what Effective
// returned. It refuses with workspace.ErrRefused folders that no agent may work in, and with
// ErrConfig what cannot be done.
func (o Options) Plan(accepted settings.Accepted, f Facts) (*Plan, error) {
	s := accepted.Settings
	s.Image = cmp.Or(s.Image, o.Image)
	if err := supported(s); err != nil {
		return nil, err
	}
	if !OwnsNetwork(o.EngineNetwork) {
		return nil, diag.WithHint(fmt.Errorf("%w: the firewall of a run cannot be in the network %q", ErrConfig, o.EngineNetwork),
			"name one that 'docker network create' made")
	}
	open, err := modeWarnings(o, s.Network)
	if err != nil {
		return nil, err
	}
	mode, err := workspaceMode(o, s, f.Workspace)
	if err != nil {
		return nil, err
	}
	project, err := projectMounts(o, f.Workspace, mode, s.Workspace.Protect)
	if err != nil {
		return nil, err
	}
	p := &Plan{
		ID: o.ID, Name: o.Name, Network: s.Network, Policy: accepted.Policy(), Project: project,
		Timeout: Duration(s.Limits.Timeout), Disk: s.Limits.Disk, Budgets: s.Budgets, Models: s.Models,
		Place: Place{Mode: mode, Folder: f.Workspace.Dir, Git: f.Workspace.Git, Owner: f.Workspace.Owner,
			LFS: slices.Contains(f.Workspace.Filters, "lfs")},
	}
	p.Place.Owner.UID, p.Place.Owner.GID = agentUser(o, f.Workspace, mode)
	if mode != workspace.None {
		p.Warnings = f.Workspace.NoGit()
	}
	if mode == workspace.Bind { // they are about what the agent could change
		p.Warnings = append(p.Warnings, f.Workspace.Notes...)
	}
	shown, err := addMounts(project, f.Workspace, s.Mounts, o)
	if err != nil {
		return nil, err
	}
	p.Warnings = slices.Concat(p.Warnings, shown, open, providerWarning(p.Policy))
	if o.Schema != nil {
		o.Headless.JSONSchema = o.Schema.Text()
	}
	o.Headless = o.Instructions.of(o.Headless, workingDir(o.Folder))
	if err := p.addServers(&o, s); err != nil {
		return nil, err
	}
	p.Asked = o
	if note := o.UnheldNote(accepted); note != "" {
		p.Notes = append(p.Notes, note)
	}
	p.Notes = append(p.Notes, notes(o, f.Workspace, s.Network.Mode)...)
	p.open = o.openLimits()
	if err := checkClaudePath(o.ClaudePath); err != nil {
		return nil, err
	}
	p.Sidecar = p.sidecar(o, f)
	p.Agent = p.agent(o, s, f)
	if carries(o, mode) {
		p.carry()
	}
	if s.Secrets, err = p.bindKeys(s); err != nil {
		return nil, err
	}
	if err := p.environment(o, s); err != nil {
		return nil, err
	}
	if err := p.checkServerVariables(s.MCP.Servers); err != nil {
		return nil, err
	}
	if mode == workspace.Bind {
		var closed []string
		closed, p.Place.closed = closedProject(o, f.Workspace, p.Place.Owner.UID, p.Place.Owner.GID)
		p.Warnings = append(p.Warnings, closed...)
	}
	p.Warnings = append(p.Warnings, repositoryWarnings(f.Workspace, mode, o.Layers)...)
	return p, nil
}

// repositoryWarnings says that the agent's commits do not stay where there is no
// repository to keep them.
func repositoryWarnings(w *workspace.Workspace, mode workspace.Mode, l Layers) []string {
	switch {
	case mode == workspace.None, mode == workspace.ReadOnly, w.Paths[".git"] != workspace.Missing:
		return nil
	case w.Above != "":
		return []string{fmt.Sprintf("%s is a part of the repository %s, which stays outside: a repository that the agent makes ends with the "+
			"run; %s if the agent's commits should stay", w.Dir, w.Above, l.Words("run it on "+w.Above, "leave whole_repository: false out"))}
	}
	return []string{w.Dir + " has no git repository of its own: the agent can make one, which ends with the run; " +
		"take a folder that has one, or run 'git init' there first, if its commits should stay"}
}

// Conversation is Claude's name of the conversation on a terminal; "" = it is Claude's choice.
func (o Options) Conversation() string {
	if !o.Terminal || o.Shell {
		return ""
	}
	return cmp.Or(o.Headless.Resume, o.Session)
}

// supported refuses settings that this version does not act on. To drop one in
// silence would let somebody rely on it.
func supported(s settings.Settings) error {
	if s.Topology != settings.TopologySidecar {
		return diag.WithHint(fmt.Errorf("%w: run does not support topology %s yet", ErrConfig, s.Topology),
			"run always uses the sidecar topology; leave the setting out")
	}
	if err := s.Limits.Usable(); err != nil {
		return fmt.Errorf("%w: limits: %w", ErrConfig, err)
	}
	return nil
}

// modeWarnings returns what must be said about a mode that opens the internet, and one
// that is not the user's. Mode host needs the user's own word twice, and no file of the
// project's counts, whoever trusts it.
func modeWarnings(o Options, n firewall.Network) (warnings []string, err error) {
	mode, named := n.Mode, "network mode"
	if o.InputsNotFlags {
		named = "egress"
	}
	if asked := o.User.Network.Mode; asked != "" && mode != asked { // only the project's file comes between
		warnings = []string{fmt.Sprintf("network mode %s was asked for, but the project's sandbox.jsonc says %s, and that is what is in force: "+
			"change \"mode\" there, or give --trust-project as well", asked, mode)}
	}
	switch mode {
	case firewall.ModeAudit:
		if slices.ContainsFunc(n.Allow, operation.Typed) {
			warnings = append(warnings, "entries about operations refuse nothing in mode audit: their refusals are only recorded")
		}
		return append([]string{named + " audit: the whole internet is open to the agent and what it reaches is recorded; private networks, " +
			"metadata and what is denied stay closed"}, warnings...), nil
	case firewall.ModeHost:
		if o.User.Network.Mode != mode || !o.AcceptNoFirewall {
			err := fmt.Errorf("%w: network mode host takes the firewall away", workspace.ErrRefused)
			return nil, diag.WithHint(err, "to let the agent reach everything that this machine can, give both flags: %s", hostFlags)
		}
		return append([]string{"NO FIREWALL (network mode host): the agent reaches everything that this machine can, its networks and cloud " +
			"metadata included, and nothing is recorded"}, warnings...), nil
	}
	return warnings, nil
}

// hostFlags are what mode host takes.
const hostFlags = "--network host --accept-no-firewall"

// Folder is the project's folder on the host, without symbolic links.
func (p *Plan) Folder() string { return p.Place.Folder }

// String prints the plan as indented JSON.
func (p *Plan) String() string {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// PolicyFile is the settings file that the sidecar reads.
func (p *Plan) PolicyFile() ([]byte, error) {
	return json.MarshalIndent(map[string]firewall.Network{"network": p.Network}, "", "  ")
}
