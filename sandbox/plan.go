package sandbox

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/firewall"
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
	LabelRole      = "sbx-devc.role"      // "sidecar" or "agent"
	LabelWorkspace = "sbx-devc.workspace" // the project's folder on the host
	LabelName      = "sbx-devc.name"      // Options.Name
	LabelMode      = "sbx-devc.mode"      // workspace.Mode; containers without it have the project mounted
)

// labelPlaced is what the run has put into the project's folder, on the
// sidecar's container: see placeholders.
const labelPlaced = "sbx-devc.placed"

// InitPath is where sbx-init is in every container of ours that has a firewall.
const InitPath = "/usr/local/sbin/sbx-init"

// Places in the containers.
const (
	workspaceTarget = "/workspace" // where the agent sees the project

	agentHome   = "/home/agent"
	policyPath  = "/etc/sbx/sandbox.jsonc"
	recordsPath = "/run/sbx"
	auditPath   = recordsPath + "/audit.jsonl"

	// initFolder is a volume of the firewall's container. The agent's, whose
	// image may be anybody's, mounts it read-only.
	initFolder = "/.sbx"

	// claudeHomes holds a volume of the firewall's container, which is Claude's own
	// folder in the agent's: it can be filled before the agent starts, and read
	// when it has ended.
	claudeHomes = "/.sbx-claude"
	claudeHome  = claudeHomes + "/home"
	agentInit   = initFolder + "/sbx-init"
)

// fallbackUID is the user of the agent where the project's folder belongs to
// root or to nobody in particular. It is the one that our images create.
const fallbackUID = 1000

// Options is what a run is asked to be. All of it but Project comes from the
// user or the workflow and is trusted.
type Options struct {
	ID   string // names the containers and the state folder: lower case letters, digits, "-"
	Name string // by which a person calls the run; "" = its id alone

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

	Tree          string   // a path on this machine for a copy of the project, in the modes that make one; it must not exist
	Persist       []string // paths of the agent's home that outlive the run, as HomePaths returns them
	KeepClaude    bool     // a profile keeps what of Claude's own folder does not act
	OwnFolders    []string // of this program's files on this machine, absolute; none is ever mounted
	Folder        string   // where in the project the agent begins, slash-separated; "" = at its root
	Image         string   // of the agent, when neither User nor a trusted Project names one
	FirewallImage string   // of the sidecar; no file of the project's can name it
	Headless      agent.Headless
	EngineNetwork string   // network of the engine that the sidecar joins, to reach services on it; "" = the engine's default
	Environ       []string // the caller's environment, NAME=value, for EnvPrefixes; nothing else of it is passed on
	// Variables are what the user gives the agent, NAME=value. They win over those of
	// EnvPrefixes and of the settings, and may hold secrets.
	Variables  []string
	MCPServers []string // names of the MCP servers that start; nil = all
	// Passthroughs are MCP servers of this machine's that the agent may ask.
	Passthroughs []Passthrough
	NoSecrets    []string // names of secrets that the run does without, whoever asks for them

	// ClaudePath is where Claude Code is in the agent's image; "" = nobody says,
	// and it is at DefaultClaudePath or comes from a volume, see Plan.MountClaude.
	// It is absolute: a name would be looked up in folders that the agent's
	// variables choose.
	ClaudePath string
	// Instructions says what Claude reads of the project's instructions and settings.
	Instructions Instructions
	// AllowHostedWeb lets the model's provider search and fetch pages for the
	// agent, which no firewall on this side sees.
	AllowHostedWeb bool
	// CommitLeft makes a commit of what the agent left uncommitted, on its branch.
	CommitLeft bool
	// AcceptNoFirewall says that the user knows what mode host is.
	AcceptNoFirewall bool

	// AcceptReadOnly says that the user knows that the agent cannot change the project.
	AcceptReadOnly bool

	// IdleTimeout ends a run whose Claude writes nothing and asks the model nothing for
	// this time; 0 = never.
	IdleTimeout time.Duration

	// Terminal gives the agent a terminal, for a person: Claude Code shows its own
	// interface there, or with Shell the image's shell does in its place.
	Terminal bool
	Shell    bool
	// Session names the conversation on a terminal that Headless.Resume does not, as
	// conversation.NewID does.
	Session string

	// Command replaces Claude Code, for tests of the walls; nil = Claude Code.
	Command []string
}

// Facts is what NewPlan must know of the machine.
type Facts struct {
	Workspace *workspace.Workspace // see Inspect
	// HostAddresses are those of this machine that no network of the sandbox's
	// shows; see HostAddresses. None is allowed.
	HostAddresses []netip.Addr
}

// Plan is a run before it happens. What it prints holds no secret, and neither do the
// containers' configurations.
type Plan struct {
	ID       string            `json:"id"`
	Name     string            `json:"name,omitempty"`
	Network  firewall.Network  `json:"network"` // the policy in force
	Sidecar  engine.Spec       `json:"sidecar"`
	Agent    engine.Spec       `json:"agent"`             // its network is the sidecar's, known when that exists
	Project  *workspace.Mounts `json:"project"`           // how the agent's container shows the project
	Timeout  Duration          `json:"timeout,omitempty"` // 0 = none
	Passed   []string          `json:"passed,omitempty"`  // names of variables that only the agent's process gets
	MCP      []string          `json:"mcp,omitempty"`     // names of the MCP servers that Claude starts
	Secrets  []Secret          `json:"secrets,omitempty"` // as Passed, or as files; Host.Secrets has their values
	Warnings []string          `json:"warnings,omitempty"`
	Notes    []string          `json:"notes,omitempty"` // what the run leaves closed or unread, and the user may not expect

	policy     *firewall.Policy // of Network
	gitOwner   gitdir.Owner     // the agent's user, and as whom it commits
	inAction   bool             // Options.InputsNotFlags
	claudePath string           // in the agent's image
	closed     error            // see Closed
	hostedWeb  bool             // Options.AllowHostedWeb
	commitLeft bool             // Options.CommitLeft
	limits     credproxy.Limits
	open       openLimits
	idle       time.Duration // Options.IdleTimeout
	disk       int64         // bytes; 0 = no limit
	mode       workspace.Mode
	folder     string       // the project's on the host
	git        gitdir.Facts // its repositories
	session    string       // Claude's name of the conversation on a terminal; "" = it is Claude's choice
	persist    []string     // Options.Persist
	// obeysProject says that Claude obeys the project's settings.
	obeysProject bool

	variables []string // Passed with their values, NAME=value
	through   []Passthrough
	mcp       []byte   // Claude's list of MCP servers; nil = none
	hidden    []string // values of it that may be secrets
}

// Duration is a time.Duration that prints as "30m0s".
type Duration time.Duration

// MarshalText prints the duration as Go writes it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// NewPlan decides everything about a run and touches nothing. It refuses with
// workspace.ErrRefused what the project's file would widen and folders that no agent may
// work in, and with ErrConfig what cannot be done.
func NewPlan(o Options, f Facts) (*Plan, error) {
	s, err := effective(o)
	if err != nil {
		return nil, err
	}
	policy, bad := firewall.NewPolicy(s.Network)
	if bad != nil {
		return nil, networkError("", bad)
	}
	if err := supported(s); err != nil {
		return nil, err
	}
	open, err := openNetwork(o, s.Network.Mode)
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
		ID: o.ID, Name: o.Name, Network: s.Network, policy: policy, Project: project, Timeout: Duration(s.Limits.Timeout), mode: mode,
		folder: f.Workspace.Dir, git: f.Workspace.Git, persist: o.Persist,
	}
	if mode == workspace.Bind { // they are about what the agent could change
		p.Warnings = slices.Clone(f.Workspace.Notes)
	}
	shown, err := addMounts(project, f.Workspace, s.Mounts, o)
	if err != nil {
		return nil, err
	}
	p.Warnings = append(p.Warnings, shown...)
	p.Warnings = append(p.Warnings, open...)
	if asked := o.User.Network.Mode; asked != "" && s.Network.Mode != asked { // only the project's file comes between
		p.Warnings = append(p.Warnings,
			fmt.Sprintf("network mode %s was asked for, but the project's sandbox.jsonc says %s, and that is what is in force: change \"mode\" "+
				"there, or give --trust-project as well", asked, s.Network.Mode))
	}
	o.Headless = o.Instructions.of(o.Headless, workingDir(o.Folder))
	if err := p.servers(&o, s); err != nil {
		return nil, err
	}
	p.obeysProject = o.Instructions.Settings
	p.Notes = append(p.Notes, notes(o, f.Workspace, s.Network.Mode)...)
	p.hostedWeb, p.commitLeft = o.AllowHostedWeb, o.CommitLeft
	p.inAction = o.InputsNotFlags
	p.limits.Turns, p.limits.BudgetUSD = o.Headless.Limits()
	chosen := o.users().Limits
	if o.Project != nil {
		chosen = settings.Limits{Memory: max(chosen.Memory, o.Project.Limits.Memory), CPUs: max(chosen.CPUs, o.Project.Limits.CPUs)}
	}
	p.open = openLimits{memory: chosen.Memory == 0, cpus: chosen.CPUs == 0}
	p.idle, p.disk = o.IdleTimeout, s.Limits.Disk
	if err := checkClaudePath(o.ClaudePath); err != nil {
		return nil, err
	}
	p.claudePath = o.ClaudePath
	if o.Terminal && !o.Shell {
		p.session = cmp.Or(o.Headless.Resume, o.Session)
	}
	p.Sidecar = p.sidecar(o, f)
	p.gitOwner = f.Workspace.Owner
	p.gitOwner.UID, p.gitOwner.GID = agentUser(f.Workspace, mode)
	p.Agent = p.agent(o, s, f)
	if err := p.environment(o, s); err != nil {
		return nil, err
	}
	if mode == workspace.Bind {
		var closed []string
		closed, p.closed = closedProject(o, f.Workspace, p.gitOwner.UID, p.gitOwner.GID)
		p.Warnings = append(p.Warnings, closed...)
	}
	switch {
	case mode == workspace.None:
	case f.Workspace.Paths[".git"] != workspace.Missing:
	case f.Workspace.Above != "":
		p.Warnings = append(p.Warnings,
			fmt.Sprintf("%s is a part of the repository %s, which stays outside: a repository that the agent makes ends with the run; run it on "+
				"%s if the agent's commits should stay",
				f.Workspace.Dir, f.Workspace.Above, f.Workspace.Above))
	default:
		p.Warnings = append(p.Warnings,
			f.Workspace.Dir+" has no git repository of its own: the agent can make one, which ends with the run; run 'git init' there first if "+
				"its commits should stay")
	}
	return p, nil
}

// users is everything that the user says, without the project.
func (o Options) users() settings.Settings { return Overlay(o.Own, o.User) }

// Effective returns the settings of a run, as NewPlan takes them.
func (o Options) Effective() (settings.Settings, error) { return effective(o) }

// effective puts the layers together: defaults, the user's file, the project's, flags.
func effective(o Options) (_ settings.Settings, err error) {
	users := o.users()
	if closesGists(users.Network) {
		o.User.Network.Deny = append(slices.Clone(o.User.Network.Deny), gists)
	}
	base := Overlay(Overlay(Defaults(), o.Own), o.User)
	if base.Image == "" {
		base.Image = o.Image
	}
	base.Secrets = o.wantedSecrets(base.Secrets)
	base.EnvPrefixes = o.prefixes(base.EnvPrefixes)
	if err := o.checkServers(base.MCP.Servers); err != nil {
		return settings.Settings{}, err
	}
	base.MCP.Servers = o.namedServers(base.MCP.Servers)
	if o.Project == nil {
		return base, nil
	}
	asked := *o.Project
	asked.Secrets = o.wantedSecrets(asked.Secrets)
	o.Project = &asked
	if !o.TrustProject && o.MCPServers != nil { // those that the user names are accepted, and no other one starts
		base.MCP.Servers = o.namedServers(settings.MergeMCPServers(asked.MCP.Servers, base.MCP.Servers))
		asked.MCP.Servers = nil
	}
	if !o.TrustProject {
		offer := func(found []wide) string { return offerFlags(found, cmp.Or(o.AcceptCommand, "sbx-devc trust")) }
		if o.InputsNotFlags {
			offer = offerInputs
		}
		return narrow(base, o.User, *o.Project, offer)
	}
	s, trusted := Overlay(Defaults(), o.Own), asked
	if trusted.Network.Presets != nil { // the file's lists take the place of the default ones
		s.Network.Presets = nil
	}
	if trusted.Network.Allow != nil {
		s.Network.Allow = nil
	}
	trusted.Network.Presets = trustedPresets(trusted, users.Network.Presets)
	s = Overlay(Overlay(s, trusted), o.User)
	s.EnvPrefixes = o.prefixes(s.EnvPrefixes)
	s.MCP.Servers = o.namedServers(s.MCP.Servers)
	if s.Secrets, err = trustedSecrets(trusted.Secrets, base.Secrets); err != nil {
		return settings.Settings{}, err
	}
	if s.Image == "" {
		s.Image = o.Image
	}
	return s, nil
}

// Widens returns what NewPlan would say of a project's file that asks for more than
// the user allowed; nil = it does not, or may.
func (o Options) Widens() error {
	if _, err := effective(o); errors.Is(err, ErrWidens) {
		return err
	}
	return nil
}

// supported refuses settings that this version does not act on. To drop one in
// silence would let somebody rely on it.
func supported(s settings.Settings) error {
	switch l := s.Limits; {
	case s.Topology != settings.TopologySidecar:
		return diag.WithHint(fmt.Errorf("%w: run does not support topology %s yet", ErrConfig, s.Topology),
			"run always uses the sidecar topology; leave the setting out")
	case l.Memory > 0 && l.Memory < leastMemory:
		return diag.WithHint(fmt.Errorf("%w: no agent works in %d bytes of memory (limits.memory, --memory)", ErrConfig, l.Memory),
			"give 64m or more; Claude Code itself needs some 500m")
	case l.PIDs > 0 && l.PIDs < leastPIDs:
		return diag.WithHint(fmt.Errorf("%w: no agent works with %d processes and threads (limits.pids, --pids)", ErrConfig, l.PIDs),
			"give %d or more", leastPIDs)
	}
	return nil
}

// The least that a container's first process, which is ours, works with.
const (
	leastMemory = 64 << 20
	leastPIDs   = 32
)

// openNetwork returns what must be said about a mode that opens the internet.
// Mode host needs the user's own word twice, and no file of the project's
// counts, whoever trusts it.
func openNetwork(o Options, mode firewall.Mode) (warnings []string, err error) {
	switch mode {
	case firewall.ModeAudit:
		return []string{"network mode audit: the whole internet is open to the agent and what it reaches is recorded; private networks, " +
			"metadata and what is denied stay closed"}, nil
	case firewall.ModeHost:
		if o.User.Network.Mode != mode || !o.AcceptNoFirewall {
			err := fmt.Errorf("%w: network mode host takes the firewall away", workspace.ErrRefused)
			return nil, diag.WithHint(err, "to let the agent reach everything that this machine can, give both flags: %s", hostFlags)
		}
		return []string{"NO FIREWALL (network mode host): the agent reaches everything that this machine can, its networks and cloud metadata " +
			"included, and nothing is recorded"}, nil
	}
	return nil, nil
}

// hostFlags are what mode host takes.
const hostFlags = "--network host --accept-no-firewall"

// FirewallContainer is the name of the container of a run's firewall, which
// holds the audit log while the run lasts.
func FirewallContainer(id string) string { return "sbx-devc-" + id + "-firewall" }

// agentContainer is the name of the container of a run's agent.
func agentContainer(id string) string { return "sbx-devc-" + id + "-agent" }

// Folder is the project's folder on the host, without symbolic links.
func (p *Plan) Folder() string { return p.folder }

func (p *Plan) labels(role, dir string) map[string]string {
	labels := map[string]string{LabelRun: p.ID, LabelRole: role, LabelWorkspace: dir}
	if p.Name != "" {
		labels[LabelName] = p.Name
	}
	if p.mode != workspace.Bind {
		labels[LabelMode] = string(p.mode)
	}
	return labels
}

// sidecar is the container that owns the network namespace and its rules. Its
// image is trusted: it is never one that the project names.
func (p *Plan) sidecar(o Options, f Facts) engine.Spec {
	network := cmp.Or(o.EngineNetwork, "bridge")
	if p.Network.Mode == firewall.ModeNone {
		network = "none"
	}
	entrypoint := []string{InitPath, "run", "--policy", policyPath, "--sidecar", "--process-lookup"}
	entrypoint = append(entrypoint, aroundFlag(f.HostAddresses)...)
	return engine.Spec{
		Name:       FirewallContainer(p.ID),
		Image:      o.FirewallImage,
		Entrypoint: append(entrypoint, p.lifeline()...),
		Stdin:      true, // we are the supervisor, see package lifeline
		WorkingDir: "/",
		User:       "0:0",
		Labels:     p.labels("sidecar", f.Workspace.Dir),
		Network:    network,
		CapDrop:    []string{"ALL"},
		// iptables opens a raw socket to talk about ipsets (measured with 1.8.9).
		CapAdd:      []string{"NET_ADMIN", "NET_RAW"},
		SecurityOpt: []string{"no-new-privileges"},
		MemoryBytes: 512 << 20,
		Pids:        128,
		// The audit log and the policy in force, for the agent to read, and its init.
		Volumes: slices.Concat([]string{recordsPath, initFolder, claudeHome}, keptVolumes(p.persist), p.Project.Git.Volumes()),
	}
}

// deadlineGrace is how much longer than its time limit a run may take before its
// containers end by themselves: to stop an agent takes less.
const deadlineGrace = graceInterrupt + graceTerminate + 15*time.Second

// lifeline is how the containers end without us: see package lifeline.
func (p *Plan) lifeline() []string {
	if p.Timeout == 0 {
		return []string{"--lifeline"}
	}
	return []string{"--lifeline", "--deadline", (time.Duration(p.Timeout) + deadlineGrace).String()}
}

// agentUser is the user of the agent: the one that the project's folder, or its copy,
// belongs to.
func agentUser(w *workspace.Workspace, mode workspace.Mode) (uid, gid int) {
	if mode.IsCopy() && os.Geteuid() > 0 { // who makes a copy owns it
		return os.Geteuid(), os.Getegid()
	}
	if w.UID <= 0 {
		return fallbackUID, fallbackUID
	}
	return w.UID, w.GID
}

// workingDir is where the agent begins. A git directory of the project is another one
// in a run, which may lack the folder.
func workingDir(folder string) string {
	if slices.Contains(strings.Split(folder, "/"), ".git") {
		return workspaceTarget
	}
	return path.Join(workspaceTarget, path.Join("/", folder))
}

// agent is the container of Claude Code: no capability, no way to get one, no
// engine's socket, and a read-only system.
func (p *Plan) agent(o Options, s settings.Settings, f Facts) engine.Spec {
	command := o.Command
	switch {
	case command != nil:
	case o.Shell:
		command = []string{"bash", "-l"}
	case o.Terminal:
		command = append([]string{cmp.Or(o.ClaudePath, DefaultClaudePath)}, o.Headless.TerminalArgs(p.session)...)
	default:
		command = append([]string{cmp.Or(o.ClaudePath, DefaultClaudePath)}, o.Headless.Args()...)
	}
	own := fmt.Sprintf("rw,nosuid,nodev,exec,uid=%d,gid=%d", p.gitOwner.UID, p.gitOwner.GID)
	spec := engine.Spec{
		Name:         agentContainer(p.ID),
		Image:        s.Image,
		Entrypoint:   slices.Concat([]string{agentInit, "reap", "--lifeline", "--mounts"}, p.diskFlag(), []string{"--"}, command),
		WorkingDir:   workingDir(o.Folder),
		User:         fmt.Sprintf("%d:%d", p.gitOwner.UID, p.gitOwner.GID),
		Labels:       p.labels("agent", f.Workspace.Dir),
		Stdin:        true,
		TTY:          o.Terminal,
		CapDrop:      []string{"ALL"},
		SecurityOpt:  []string{"no-new-privileges"},
		ReadOnlyRoot: true,
		Mounts: slices.Concat(engineMounts(p.Project.List), accountMounts(), []engine.Mount{{Volume: claudeHome, Target: agentHome + "/.claude"}},
			keptMounts(p.persist)),
		Tmpfs: map[string]string{
			// Without a size each could take half of the host's memory; what
			// they hold counts against the memory limit besides.
			agentHome:  own + ",mode=0700,size=4g",
			"/tmp":     "rw,nosuid,nodev,exec,mode=1777,size=4g",
			"/var/tmp": "rw,nosuid,nodev,exec,mode=1777,size=1g",
			"/run":     "rw,nosuid,nodev,noexec,mode=1777,size=64m",
		},
		MemoryBytes: s.Limits.Memory,
		CPUs:        s.Limits.CPUs,
		Pids:        s.Limits.PIDs,
		// An engine's log has no limit unless somebody set one, and a line feed
		// is 70 bytes there. The transcript is ours.
		NoLog: true,
	}
	if p.mode == workspace.None {
		spec.WorkingDir = workspaceTarget
		spec.Tmpfs[workspaceTarget] = own + ",mode=0755,size=4g"
	}
	for _, dir := range p.Project.Scratch {
		spec.Tmpfs[dir] = own + ",mode=0755,size=16m"
	}
	for _, dir := range foldersToMounts(spec.Mounts) {
		spec.Tmpfs[dir] = own + ",mode=0700,size=4g"
	}
	return spec
}

// String prints the plan as indented JSON.
func (p *Plan) String() string {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// policyFile is the settings file that the sidecar reads.
func (p *Plan) policyFile() ([]byte, error) {
	return json.MarshalIndent(map[string]firewall.Network{"network": p.Network}, "", "  ")
}

// ClaudePath is where the agent's image has Claude Code, absolute, and whether
// somebody chose that.
func (p *Plan) ClaudePath() (path string, chosen bool) {
	return cmp.Or(p.claudePath, DefaultClaudePath), p.claudePath != ""
}

// MountInit gives both containers sbx-init from a volume of the engine, which holds
// InitFile. Without it Run copies sbx-init into a volume of its own, which takes longer.
func (p *Plan) MountInit(volume string) {
	p.Sidecar.Volumes = slices.DeleteFunc(slices.Clone(p.Sidecar.Volumes), func(place string) bool { return place == initFolder })
	p.Sidecar.Mounts = append(slices.Clone(p.Sidecar.Mounts), engine.Mount{Named: volume, Target: initFolder, ReadOnly: true})
}

// ClaudeName is the name of Claude Code's program at the root of a volume that
// MountClaude takes.
const ClaudeName = "claude"

// claudeFolder is where such a volume is in the agent's container. It is the last
// folder of PATH.
const claudeFolder = "/.sbx-program"

// MountClaude gives the agent's container Claude Code from a volume of the engine,
// read-only, and not from its image. path is what the image has as PATH; "" = the
// engine's default.
func (p *Plan) MountClaude(volume, path string) {
	program := claudeFolder + "/" + ClaudeName
	if at := slices.Index(p.Agent.Entrypoint, DefaultClaudePath); at >= 0 {
		p.Agent.Entrypoint = slices.Clone(p.Agent.Entrypoint)
		p.Agent.Entrypoint[at] = program
	}
	p.Agent.Mounts = append(p.Agent.Mounts, engine.Mount{Named: volume, Target: claudeFolder, ReadOnly: true})
	const name = "PATH="
	at := slices.IndexFunc(p.Agent.Env, func(v string) bool { return strings.HasPrefix(v, name) })
	if at < 0 {
		at = len(p.Agent.Env)
		p.Agent.Env = append(p.Agent.Env, name+cmp.Or(path, "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"))
	}
	p.Agent.Env[at] += ":" + claudeFolder
}
