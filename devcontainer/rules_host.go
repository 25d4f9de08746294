package devcontainer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// hostRules judge what lets the container out to the host.
var hostRules = []Rule{
	{ID: "SBX401", Name: "engine-socket", Severity: diag.SeverityError, Title: "the container engine's socket is handed in",
		Reason: "Whoever talks to the engine can start a container that owns the host, so there is no border left. Where the file names the Feature docker-outside-of-docker, which is made for that, and neither a sandbox nor an agent is there, this is a note, and so are SBX407 and SBX408: the engine can mount any folder and run anything.",
		check:  (*pass).host},
	{ID: "SBX402", Name: "privileged", Severity: diag.SeverityError, Title: "privileged container",
		Reason: "A privileged container has all capabilities and all devices of the host: its root is the host's root."},
	{ID: "SBX403", Name: "dangerous-capability", Severity: diag.SeverityError, Title: "dangerous capability",
		Reason: "The capability reaches beyond the container: it loads kernel modules, reads any file of the host, or mounts. SYS_PTRACE is a note: it reaches the other processes of the container, and none of the host's unless they share a namespace."},
	{ID: "SBX404", Name: "host-namespace", Severity: diag.SeverityError, Title: "namespace shared with the host",
		Reason: "With the host's network the container reaches what listens on loopback there and no firewall of its own applies; with the host's processes it sees and, as root, signals them. The host's user namespace is a note: it is the default, unless the engine maps users."},
	{ID: "SBX405", Name: "unconfined", Severity: diag.SeverityError, Title: "kernel confinement switched off",
		Reason: "The engine's seccomp and AppArmor profiles and SELinux labels keep system calls away that break out of containers."},
	{ID: "SBX406", Name: "device", Severity: diag.SeverityWarning, Title: "device of the host",
		Reason: "A device is the host's own: a disk holds its files, a GPU's driver is a large part of its kernel. A rule for a whole class of devices opens them all."},
	{ID: "SBX407", Name: "sensitive-mount", Severity: diag.SeverityError, Title: "sensitive folder of the host is mounted",
		Reason: "System folders let the container change the host, and a home folder holds keys and files that run at the next login."},
	{ID: "SBX408", Name: "initialize-command", Severity: diag.SeverityWarning, Title: "initializeCommand runs on the host",
		Reason: "It runs outside any container, each time the folder is opened, with the rights of the user, and it comes with the repository."},
	{ID: "SBX409", Name: "way-to-others", Severity: diag.SeverityWarning, Title: "way to the host or to other containers",
		Reason: "host-gateway gives the container an address of the host, where services listen that trust their network; --volumes-from hands in whatever another container has mounted; and who shares a namespace with another container sees its processes, its memory or its connections."},
	{ID: "SBX410", Name: "build-opens-host", Severity: diag.SeverityWarning, Title: "the build gets more of the host than its context",
		Reason: "While the image is built, its instructions run with the host's network, with keys of the SSH agent, with files as secrets or without confinement, and the Dockerfile comes with the repository."},
	{ID: "SBX411", Name: "published-everywhere", Severity: diag.SeverityWarning, Title: "port published on all addresses of the host",
		Reason: "Everybody in the host's network reaches what listens on it; the engine opens the host's own firewall for that.",
		check:  (*pass).published},
	{ID: "SBX412", Name: "feature-privilege", Severity: diag.SeverityWarning, Title: "rights that come with a Feature",
		Reason: "A Feature's metadata is merged into the configuration: it can make the container privileged, add capabilities, switch confinement off and mount the engine's socket, and devcontainer.json does not show it.",
		check:  (*pass).featurePrivileges},
	{ID: "SBX413", Name: "new-privileges", Severity: diag.SeverityNote, Title: "an agent's container where setuid works",
		Reason: "Without no-new-privileges, sudo and every other setuid program lead the agent back to root in its container.",
		check:  (*pass).newPrivileges},
	{ID: "SBX414", Name: "policy-capability", Severity: diag.SeverityError, Title: "capability that the organisation's policy refuses",
		Reason: "Only with --policy: the policy says which capabilities a configuration may add.",
		check:  (*pass).organisation},
	{ID: "SBX415", Name: "policy-mount", Severity: diag.SeverityError, Title: "mount that the organisation's policy refuses",
		Reason: "Only with --policy: the policy says which folders of the host a configuration may mount."},
	{ID: "SBX416", Name: "policy-property", Severity: diag.SeverityError, Title: "property that the organisation's policy refuses or requires",
		Reason: "Only with --policy: the policy says which properties a configuration may not or must have."},
	{ID: "SBX417", Name: "session-socket", Severity: diag.SeverityWarning, Title: "socket of the user's session is handed in",
		Reason: "Desktop, sound, keys and services of the host listen on sockets and trust whoever connects. The X server types into every window, an SSH or GnuPG agent signs with every key, D-Bus starts programs outside; read-only changes nothing, a socket is not written to."},
	{ID: "SBX418", Name: "compose-provider", Severity: diag.SeverityWarning, Title: "Compose runs a program of the host",
		Reason: "A service with a provider is no container: Compose starts a program of that name outside, each time the project comes up, with options from the repository."},
}

// host reports what lets the container out to the host.
func (c *pass) host() {
	for _, m := range c.mounts {
		if c.engineSocket(m) || c.handsInSession(m, func(rule, message, hint string) { c.at(m.node, rule, message, hint) }) {
			continue
		}
		if what := sensitive(m); what != "" {
			c.at(m.node, "SBX407", fmt.Sprintf("%s of the host is mounted", what), "mount only the folder that is needed, and nothing that holds keys")
		}
	}
	for _, env := range []string{"containerEnv", "remoteEnv"} {
		if n := c.root.Member(env).Member("DOCKER_HOST"); n != nil && n.Kind == jsonc.String {
			c.at(n, "SBX401", "DOCKER_HOST points the container at an engine outside", hintSocket)
		}
	}
	if n := c.root.Member("privileged"); truthy(n) {
		c.at(n, "SBX402", "a privileged container is no border: it owns the host's devices and kernel", "remove it and add the one capability that is needed")
	}
	for _, n := range texts(c.root.Member("capAdd")) {
		c.capability(n.Text, n)
	}
	for _, n := range texts(c.root.Member("securityOpt")) {
		c.confinement(n.Text, n)
	}
	for _, a := range c.args {
		c.hostArg(a)
	}
	c.composeHost()
	for _, a := range c.built {
		c.buildOption(a)
	}
	if n := c.root.Member("initializeCommand"); n != nil && n.Kind != jsonc.Null {
		c.at(n, "SBX408", "initializeCommand runs on the host, each time the container is opened", "do it in the Dockerfile or in onCreateCommand, which run inside")
	}
}

func (c *pass) hostArg(a runArg) {
	switch a.flag {
	case "privileged":
		if isOn(a.value) {
			c.at(a.node, "SBX402", "a privileged container is no border: it owns the host's devices and kernel", "remove it and add the one capability that is needed")
		}
	case "cap-add":
		c.capability(a.value, a.node)
	case "security-opt":
		c.confinement(a.value, a.node)
	case "network", "pid", "ipc", "uts", "userns", "cgroupns":
		if host, _ := joins(a.flag, a.value); host {
			shared := hostNamespaces[a.flag]
			c.at(a.node, "SBX404", fmt.Sprintf("--%s=host %s", a.flag, shared.what), shared.hint).atMost(shared.severity)
		}
		c.joinedArg(a)
	case "device", "gpus", "device-cgroup-rule":
		if !slices.ContainsFunc(harmlessDevices, func(d string) bool { return strings.HasPrefix(a.value, d) }) {
			c.at(a.node, "SBX406", fmt.Sprintf("--%s=%s hands in a device of the host", a.flag, a.value), "leave it out unless the work needs it")
		}
	case "volumes-from":
		c.at(a.node, "SBX409", fmt.Sprintf("--volumes-from=%s mounts what another container has mounted", a.value), "name the volume that is needed in mounts")
	case "add-host":
		if strings.Contains(a.value, "host-gateway") {
			c.at(a.node, "SBX409", "host-gateway opens a way to services of the host", "run the service in a container, or reach it by a name that a policy allows")
		}
	case "use-api-socket":
		if isOn(a.value) {
			c.at(a.node, "SBX401", "--use-api-socket gives access to the container engine, and the credentials for its registries", hintSocket)
		}
	case "env":
		if name, _, _ := strings.Cut(a.value, "="); name == "DOCKER_HOST" {
			c.at(a.node, "SBX401", "DOCKER_HOST points the container at an engine outside", hintSocket)
		}
	}
}

// harmlessDevices are no more than what every container has.
var harmlessDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/shm"}

// buildOption reports options of the image's build that reach beyond the
// context.
func (c *pass) buildOption(a runArg) {
	what := ""
	switch {
	case a.flag == "network" && a.value == "host":
		what = "the host's network"
	case a.flag == "ssh":
		what = "the SSH agent"
	case a.flag == "secret":
		what = "a secret of the host"
	case a.flag == "allow":
		what = "what BuildKit asks a permission for"
	case a.flag == "security-opt" && strings.Contains(a.value, "unconfined"):
		what = "an unconfined kernel interface"
	}
	if what != "" {
		c.at(a.node, "SBX410", fmt.Sprintf("--%s=%s gives the build %s", a.flag, a.value, what), "leave it out, or fetch in a build stage that needs none of it")
	}
}

// dangerous capabilities lead to root on the host or undo the confinement;
// capabilities(7). NET_ADMIN is not among them: it acts on the container's own
// network, and the sandbox needs it.
var dangerous = []string{
	"ALL", "SYS_ADMIN", "SYS_PTRACE", "SYS_MODULE", "SYS_RAWIO", "SYS_BOOT", "SYS_TIME", "SYSLOG", "DAC_READ_SEARCH",
	"BPF", "PERFMON", "CHECKPOINT_RESTORE", "MAC_ADMIN", "MAC_OVERRIDE", "AUDIT_CONTROL", "LINUX_IMMUTABLE",
}

func capabilityName(s string) string {
	return strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(s)), "CAP_")
}

// reach says where a dangerous capability leads, and how grave that is. In its own
// process namespace SYS_PTRACE leads to no process of the host's.
func reach(name string) (message string, severity diag.Severity) {
	if name == "SYS_PTRACE" {
		return "the capability SYS_PTRACE lets its holder read and change every other process of the container", diag.SeverityNote
	}
	return "the capability " + name + " reaches beyond the container", diag.SeverityError
}

func (c *pass) capability(name string, n *jsonc.Node) {
	if name = capabilityName(name); slices.Contains(dangerous, name) {
		message, severity := reach(name)
		c.at(n, "SBX403", message, "remove it").atMost(severity)
	}
}

func (c *pass) confinement(option string, n *jsonc.Node) {
	if switchesOff(option) {
		c.at(n, "SBX405", option+" switches a part of the kernel's confinement off", "remove it; a debugger works under the default profile")
	}
}

// switchesOff reports whether a security option takes confinement away.
func switchesOff(option string) bool {
	key, value, ok := strings.Cut(option, "=")
	if !ok {
		key, value, _ = strings.Cut(option, ":")
	}
	return value == "unconfined" && slices.Contains([]string{"seccomp", "apparmor", "systempaths"}, key) || key == "label" && value == "disable"
}

const hintSocket = "whoever talks to the engine can start a container that owns the host; remove it"

var (
	socketName = regexp.MustCompile(`(?i)(docker|containerd|podman|crio|cri-dockerd|buildkitd)[^/]*\.sock$|docker\.sock\.raw$|/(lxd|incus)(/common/lxd)?/unix\.socket$|pipe[/\\]+docker_?engine`)
	socketDirs = []string{"run", "var/run", "run/docker", "var/run/docker", "run/containerd", "var/run/containerd",
		"run/podman", "var/run/podman", "run/buildkit", "run/crio", "run/user", "var/run/user", "run/k3s", "run/k3s/containerd", "run/nri", "var/run/nri"}
)

// engineSocket reports a mount that hands in an engine's socket.
func (c *pass) engineSocket(m mount) bool {
	hit := isSocket(m)
	if hit {
		c.at(m.node, "SBX401", fmt.Sprintf("the mount of %q gives access to the container engine", m.source), hintSocket)
	}
	return hit
}

// isSocket reports whether m mounts an engine's socket, or the folder in which
// it lies.
func isSocket(m mount) bool {
	p := origin(m.source)
	return socketName.MatchString(strings.TrimSuffix(p.path, "/")) || socketName.MatchString(m.source) || socketName.MatchString(m.target) ||
		p.base == "/" && slices.Contains(socketDirs, p.path) || sessionFolder.MatchString(socketPath(m.source))
}

var (
	// systemDirs are refused with everything below, except for harmless.
	systemDirs = []string{"etc", "proc", "sys", "root", "boot", "dev", "var/lib/docker", "var/lib/containerd", "var/lib/kubelet"}
	// wholeDirs are refused as such; single folders below are the user's choice.
	wholeDirs = []string{".", "home", "Users", "var", "var/lib", "usr", "bin", "sbin", "lib", "lib64", "mnt", "media", "tmp", "run", "c", "host_mnt"}
	harmless  = []string{"etc/localtime", "etc/timezone", "etc/ssl/certs", "etc/ca-certificates", "dev/shm", "dev/null"}
	// homeSecrets hold keys or act on the host when it is used.
	homeSecrets = []string{".ssh", ".aws", ".azure", ".kube", ".config", ".docker", ".gnupg", ".netrc", ".npmrc", ".pypirc", ".claude",
		".claude.json", ".gitconfig", ".git-credentials", ".bashrc", ".profile", ".zshrc", ".bash_history", ".local/share/keyrings", ".password-store", ".terraform.d", ".cargo/credentials.toml"}
)

// sensitive says which part of the host a bind mount opens, or "".
func sensitive(m mount) string {
	if m.kind != "bind" || m.source == "" {
		return ""
	}
	p := origin(m.source)
	leavesBase := p.path == ".." || strings.HasPrefix(p.path, "../")
	below := func(names []string) bool { return slices.ContainsFunc(names, p.is) }
	switch {
	case p.base == "/" && slices.Contains(wholeDirs, p.path), p.base == "/" && below(systemDirs) && !below(harmless):
		return "/" + strings.TrimPrefix(p.path, ".")
	case p.base == "home" && (p.path == "." || leavesBase):
		return "the home folder"
	case p.base == "home" && below(homeSecrets):
		return "~/" + p.path
	case p.base == "/" && credentialPath.MatchString(p.path):
		return "/" + p.path
	case p.base == "workspace" && leavesBase, p.base == "" && leavesBase:
		return "a folder outside the workspace (" + m.source + ")"
	}
	return ""
}

// credentialPath finds a home folder that is written out.
var credentialPath = regexp.MustCompile(`^(home|Users)/[^/]+($|/\.(ssh|aws|azure|kube|config|docker|gnupg|netrc|npmrc|claude|gitconfig|git-credentials)($|/))`)
