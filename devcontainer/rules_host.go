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
		Reason: "Whoever talks to the engine can start a container that owns the host, so there is no border left.",
		Bad:    "{\n  \"image\": \"debian:13\",\n  \"mounts\": [\"type=bind,source=/var/run/docker.sock,target=/var/run/docker.sock\"]\n}",
		Good:   "{\n  \"image\": \"debian:13\"\n}",
		check:  (*pass).host},
	{ID: "SBX402", Name: "privileged", Severity: diag.SeverityError, Title: "privileged container",
		Reason: "A privileged container has all capabilities and all devices of the host: its root is the host's root.",
		Bad:    "{\n  \"image\": \"debian:13\",\n  \"privileged\": true\n}",
		Good:   "{\n  \"image\": \"debian:13\",\n  \"capAdd\": [\"SYS_NICE\"]\n}"},
	{ID: "SBX403", Name: "dangerous-capability", Severity: diag.SeverityError, Title: "dangerous capability",
		Reason: "The capability reaches beyond the container: it loads kernel modules, reads any file of the host, mounts, or looks into other processes.",
		Bad:    "{\n  \"image\": \"debian:13\",\n  \"capAdd\": [\"SYS_ADMIN\"]\n}",
		Good:   "{\n  \"image\": \"debian:13\",\n  \"capAdd\": [\"NET_BIND_SERVICE\"]\n}"},
	{ID: "SBX404", Name: "host-namespace", Severity: diag.SeverityError, Title: "namespace shared with the host",
		Reason: "With the host's network the container reaches what listens on loopback there and no firewall of its own applies; with the host's processes it sees and, as root, signals them.",
		Bad:    "{\n  \"image\": \"debian:13\",\n  \"runArgs\": [\"--network=host\"]\n}",
		Good:   "{\n  \"image\": \"debian:13\",\n  \"forwardPorts\": [3000]\n}"},
	{ID: "SBX405", Name: "unconfined", Severity: diag.SeverityError, Title: "kernel confinement switched off",
		Reason: "The engine's seccomp and AppArmor profiles and SELinux labels keep system calls away that break out of containers.",
		Bad:    "{\n  \"image\": \"debian:13\",\n  \"securityOpt\": [\"seccomp=unconfined\"]\n}",
		Good:   "{\n  \"image\": \"debian:13\",\n  \"securityOpt\": [\"no-new-privileges\"]\n}"},
	{ID: "SBX407", Name: "sensitive-mount", Severity: diag.SeverityError, Title: "sensitive folder of the host is mounted",
		Reason: "System folders let the container change the host, and a home folder holds keys and files that run at the next login.",
		Bad:    "{\n  \"image\": \"debian:13\",\n  \"mounts\": [\"type=bind,source=${localEnv:HOME}/.ssh,target=/home/dev/.ssh,readonly\"]\n}",
		Good:   "{\n  \"image\": \"debian:13\",\n  \"mounts\": [\"type=bind,source=${localEnv:HOME}/.cache/go-build,target=/cache\"]\n}"},
	{ID: "SBX408", Name: "initialize-command", Severity: diag.SeverityWarning, Title: "initializeCommand runs on the host",
		Reason: "It runs outside any container, each time the folder is opened, with the rights of the user, and it comes with the repository.",
		Bad:    "{\n  \"image\": \"debian:13\",\n  \"initializeCommand\": \"make prepare\"\n}",
		Good:   "{\n  \"image\": \"debian:13\",\n  \"onCreateCommand\": \"make prepare\"\n}"},
}

// host reports what lets the container out to the host.
func (c *pass) host() {
	for _, m := range c.mounts {
		if c.engineSocket(m) {
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
		if a.value == "host" {
			c.at(a.node, "SBX404", fmt.Sprintf("--%s=host shares the host's %s namespace", a.flag, a.flag), "remove it; ports are reached with forwardPorts")
		}
	case "env":
		if name, _, _ := strings.Cut(a.value, "="); name == "DOCKER_HOST" {
			c.at(a.node, "SBX401", "DOCKER_HOST points the container at an engine outside", hintSocket)
		}
	}
}

// dangerous capabilities lead to root on the host or undo the confinement;
// capabilities(7). NET_ADMIN is not among them: it acts on the container's own
// network, and the sandbox needs it.
var dangerous = []string{
	"ALL", "SYS_ADMIN", "SYS_PTRACE", "SYS_MODULE", "SYS_RAWIO", "SYS_BOOT", "SYS_TIME", "SYSLOG", "DAC_READ_SEARCH",
	"BPF", "PERFMON", "CHECKPOINT_RESTORE", "MAC_ADMIN", "MAC_OVERRIDE", "AUDIT_CONTROL", "LINUX_IMMUTABLE",
}

func (c *pass) capability(name string, n *jsonc.Node) {
	name = strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(name)), "CAP_")
	if slices.Contains(dangerous, name) {
		c.at(n, "SBX403", "the capability "+name+" reaches beyond the container", "remove it")
	}
}

func (c *pass) confinement(option string, n *jsonc.Node) {
	key, value, ok := strings.Cut(option, "=")
	if !ok {
		key, value, _ = strings.Cut(option, ":")
	}
	off := value == "unconfined" && slices.Contains([]string{"seccomp", "apparmor", "systempaths"}, key) || key == "label" && value == "disable"
	if off {
		c.at(n, "SBX405", option+" switches a part of the kernel's confinement off", "remove it; a debugger works under the default profile")
	}
}

const hintSocket = "whoever talks to the engine can start a container that owns the host; remove it"

var (
	socketName = regexp.MustCompile(`(?i)(docker|containerd|podman|crio|cri-dockerd|buildkitd)[^/]*\.sock$|pipe[/\\]+docker_?engine`)
	socketDirs = []string{"run", "var/run", "run/docker", "var/run/docker", "run/containerd", "var/run/containerd",
		"run/podman", "var/run/podman", "run/buildkit", "run/crio", "run/user"}
)

// engineSocket reports a mount that hands in an engine's socket, or the folder
// in which it lies.
func (c *pass) engineSocket(m mount) bool {
	p := origin(m.source)
	hit := socketName.MatchString(strings.TrimSuffix(p.path, "/")) || socketName.MatchString(m.source) || socketName.MatchString(m.target) ||
		p.base == "/" && slices.Contains(socketDirs, p.path)
	if hit {
		c.at(m.node, "SBX401", fmt.Sprintf("the mount of %q hands in the container engine", m.source), hintSocket)
	}
	return hit
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
