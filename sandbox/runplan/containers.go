package runplan

import (
	"cmp"
	"fmt"
	"net/netip"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/workspace"
)

// fallbackUID is the user of the agent where the project's folder belongs to
// root or has no single owner. It is the one that our images create.
const fallbackUID = 1000

// DefaultNetwork is the engine's network that a run's firewall is in unless somebody says
// otherwise.
const DefaultNetwork = "bridge"

// OwnsNetwork reports whether a container in a network of the engine by that name has a
// network namespace of its own. In another one the firewall would close this machine's
// network, or another container's.
func OwnsNetwork(name string) bool {
	return name != "host" && name != "none" && !strings.Contains(name, ":") // as container:ID, which no network is called
}

// RoleSidecar is LabelRole of the container that holds the firewall.
const RoleSidecar = "sidecar"

// FirewallContainer is the name of the container of a run's firewall, which
// holds the audit log while the run lasts.
func FirewallContainer(id string) string { return "sbx-devc-" + id + "-firewall" }

// AgentContainer is the name of the container of a run's agent.
func AgentContainer(id string) string { return "sbx-devc-" + id + "-agent" }

func (p *Plan) labels(role, dir string) map[string]string {
	labels := map[string]string{LabelRun: p.ID, LabelRole: role, LabelWorkspace: dir, LabelProject: cmp.Or(p.Asked.ProjectDir, dir)}
	if p.Name != "" {
		labels[LabelName] = p.Name
	}
	if p.Place.Mode != workspace.Bind {
		labels[LabelMode] = string(p.Place.Mode)
	}
	return labels
}

// sidecar is the container that owns the network namespace and its rules. Its
// image is trusted: it is never one that the project names.
func (p *Plan) sidecar(o Options, f Facts) engine.Spec {
	network := cmp.Or(o.EngineNetwork, DefaultNetwork)
	if p.Network.Mode == firewall.ModeNone {
		network = "none"
	}
	entrypoint := []string{InitPath, "run", "--policy", PolicyPath, "--sidecar", "--process-lookup"}
	entrypoint = append(entrypoint, aroundFlag(f.HostAddresses)...)
	return engine.Spec{
		Name:   FirewallContainer(p.ID),
		Image:  o.FirewallImage,
		Labels: p.labels(RoleSidecar, f.Workspace.Dir),
		Process: engine.Process{
			Entrypoint: append(entrypoint, p.lifeline()...),
			Stdin:      true, // we are the supervisor, see package lifeline
			WorkingDir: "/",
			User:       "0:0",
		},
		Link: engine.Link{Network: network},
		Rights: engine.Rights{
			CapDrop: []string{"ALL"},
			// iptables opens a raw socket to talk about ipsets (measured with 1.8.9).
			CapAdd:      []string{"NET_ADMIN", "NET_RAW"},
			SecurityOpt: []string{"no-new-privileges"},
		},
		Storage: engine.Storage{
			// The audit log and the policy in force, for the agent to read, and its init.
			Volumes: slices.Concat([]string{RecordsPath, InitFolder, ClaudeHome}, KeptVolumes(p.Asked.Persist), p.Project.Git.Volumes(),
				p.carriedVolumes()),
		},
		Limits: engine.Limits{MemoryBytes: 512 << 20, Pids: 128},
	}
}

// How long the agent gets after each step of being stopped: an interrupted
// Claude writes its result within 1.5 seconds (measured).
const (
	GraceInterrupt = 10 * time.Second
	GraceTerminate = 5 * time.Second
)

// deadlineGrace is how much longer than its time limit a run may take before its
// containers end by themselves: to stop an agent takes less.
const deadlineGrace = GraceInterrupt + GraceTerminate + 15*time.Second

// lifeline is how the containers end without us: see package lifeline.
func (p *Plan) lifeline() []string {
	if p.Timeout == 0 {
		return []string{"--lifeline"}
	}
	return []string{"--lifeline", "--deadline", (time.Duration(p.Timeout) + deadlineGrace).String()}
}

// agentUser is the user of the agent: the one that the project's folder, or its copy,
// belongs to.
func agentUser(o Options, w *workspace.Workspace, mode workspace.Mode) (uid, gid int) {
	if o.Remote { // where nothing of this machine's is mounted, its image's user has a name
		return fallbackUID, fallbackUID
	}
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
		return WorkspaceTarget
	}
	return path.Join(WorkspaceTarget, path.Join("/", folder))
}

// agent is the container of Claude Code: no capability, no way to get one, no
// engine's socket, and a read-only system.
func (p *Plan) agent(o Options, s settings.Settings, f Facts) engine.Spec {
	command := o.Command
	switch {
	case command != nil:
	case o.Hold:
		command = []string{"cat"} // until its standard input is closed
	case o.Shell:
		command = []string{"bash", "-l"}
	case o.Terminal:
		command = append([]string{cmp.Or(o.ClaudePath, DefaultClaudePath)}, o.Headless.TerminalArgs(p.Asked.Conversation())...)
	default:
		command = append([]string{cmp.Or(o.ClaudePath, DefaultClaudePath)}, o.Headless.Args()...)
	}
	own := fmt.Sprintf("rw,nosuid,nodev,exec,uid=%d,gid=%d", p.Place.Owner.UID, p.Place.Owner.GID)
	spec := engine.Spec{
		Name:   AgentContainer(p.ID),
		Image:  s.Image,
		Labels: p.labels("agent", f.Workspace.Dir),
		Process: engine.Process{
			Entrypoint: slices.Concat([]string{AgentInit, "reap", "--lifeline", "--mounts"}, p.diskFlag(), p.trustFlag(), []string{"--"}, command),
			WorkingDir: workingDir(o.Folder),
			User:       fmt.Sprintf("%d:%d", p.Place.Owner.UID, p.Place.Owner.GID),
			Stdin:      true,
			TTY:        o.Terminal,
			// An engine's log has no limit unless somebody set one, and a line feed
			// is 70 bytes there. The transcript is ours.
			NoLog: true,
		},
		Rights: engine.Rights{
			CapDrop:      []string{"ALL"},
			SecurityOpt:  []string{"no-new-privileges"},
			Runtime:      o.OCIRuntime,
			ReadOnlyRoot: true,
		},
		Storage: engine.Storage{
			Mounts: slices.Concat(EngineMounts(p.Project.List), accountMounts(),
				[]engine.Mount{{Volume: ClaudeHome, Target: AgentHome + "/.claude"}}, keptMounts(p.Asked.Persist)),
			Tmpfs: map[string]string{
				// Without a size each could take half of the host's memory; what
				// they hold counts against the memory limit besides.
				AgentHome:  own + ",mode=0700,size=4g",
				"/tmp":     "rw,nosuid,nodev,exec,mode=1777,size=4g",
				"/var/tmp": "rw,nosuid,nodev,exec,mode=1777,size=1g",
				"/run":     "rw,nosuid,nodev,noexec,mode=1777,size=64m",
			},
		},
		Limits: engine.Limits{MemoryBytes: s.Limits.Memory, CPUs: s.Limits.CPUs, Pids: s.Limits.PIDs},
	}
	if p.Place.Mode == workspace.None {
		spec.WorkingDir = WorkspaceTarget
		spec.Tmpfs[WorkspaceTarget] = own + ",mode=0755,size=4g"
	}
	for _, dir := range p.Project.Scratch {
		spec.Tmpfs[dir] = own + ",mode=0755,size=16m"
	}
	for _, dir := range foldersToMounts(spec.Mounts) {
		spec.Tmpfs[dir] = own + ",mode=0700,size=4g"
	}
	return spec
}

// trustFlag makes the agent's first process write the bundles that variables name.
func (p *Plan) trustFlag() []string {
	if p.opensTLS() {
		return []string{"--trust"}
	}
	return nil
}

// EngineMounts are the engine's words for mounts.
func EngineMounts(list []workspace.Mount) (mounts []engine.Mount) {
	for _, m := range list {
		mounts = append(mounts, engine.Mount{Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly, Volume: m.Volume})
	}
	return mounts
}

// aroundFlag tells the firewall of addresses that are around it.
func aroundFlag(addrs []netip.Addr) []string {
	if len(addrs) == 0 {
		return nil
	}
	words := make([]string, len(addrs))
	for i, a := range addrs {
		words[i] = a.String()
	}
	return []string{"--around", strings.Join(words, ",")}
}
