package lint

import (
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

var (
	socketName = lazyregexp.New(`(?i)(docker|containerd|podman|crio|cri-dockerd|buildkitd)[^/]*\.sock$|docker\.sock\.raw$|/(lxd|` +
		`incus)(/common/lxd)?/unix\.socket$|pipe[/\\]+docker_?engine`)
	socketDirs = []string{"run", "var/run", "run/docker", "var/run/docker", "run/containerd", "var/run/containerd",
		"run/podman", "var/run/podman", "run/buildkit", "run/crio", "run/user", "var/run/user", "run/k3s", "run/k3s/containerd",
		"run/nri", "var/run/nri"}
)

// mountsEngine reports whether a right is a mount of an engine's socket, or of
// the folder in which it lies.
func mountsEngine(r rights.Right) bool {
	m := r.Mount
	if r.Kind == rights.Granted {
		m.Target = "" // a file of its own
	}
	if r.Notation == rights.Compose && m.Type != "bind" && m.Type != "npipe" {
		return false
	}
	from := rights.Origin(m.Source)
	isSocket := slices.ContainsFunc([]string{strings.TrimSuffix(from.Path, "/"), m.Source, m.Target}, socketName.MatchString)
	hasSocket := from.Base == "/" && slices.Contains(socketDirs, from.Path)
	return isSocket || hasSocket || sessionFolder.MatchString(socketPath(m.Source))
}

var (
	// systemDirs are refused with everything below, except for harmless.
	systemDirs = []string{"etc", "proc", "sys", "root", "boot", "dev", "var/lib/docker", "var/lib/containerd", "var/lib/kubelet"}
	// wholeDirs are refused as such; single folders below are the user's choice.
	wholeDirs = []string{".", "home", "Users", "var", "var/lib", "usr", "bin", "sbin", "lib", "lib64", "mnt", "media", "tmp", "run",
		"c", "host_mnt"}
	harmless = []string{"etc/localtime", "etc/timezone", "etc/ssl/certs", "etc/ca-certificates", "dev/shm", "dev/null"}
	// readable are harmless to a container that only reads them.
	readable = []string{"etc/hosts", "etc/resolv.conf", "etc/hostname"}
	// homeSecrets hold keys or act on the host when it is used.
	homeSecrets = []string{".ssh", ".aws", ".azure", ".kube", ".config", ".docker", ".gnupg", ".netrc", ".npmrc", ".pypirc", ".claude",
		".claude.json", ".gitconfig", ".git-credentials", ".bashrc", ".profile", ".zshrc", ".bash_history", ".local/share/keyrings",
		".password-store", ".terraform.d", ".cargo/credentials.toml"}
)

// spared says how to do without a mount of the host's keys and devices: the first entry that it lies in, by its base.
var spared = []struct{ base, name, hint string }{
	{"home", ".ssh", "leave it out: editors forward the SSH agent, and the keys stay on the host"},
	{"home", ".gnupg", "leave it out: VS Code forwards the agent of gpg, and the keys stay on the host"},
	{"home", ".gitconfig", "leave it out: VS Code copies it into the container"},
	{"home", ".git-credentials", "leave it out: VS Code lets git in the container ask on the host"},
	{"home", ".bashrc", dotfiles}, {"home", ".profile", dotfiles}, {"home", ".zshrc", dotfiles},
	{"home", ".bash_history", "mount a volume there"},
	{"home", ".aws", volumeOfOwn}, {"home", ".azure", volumeOfOwn}, {"home", ".kube", volumeOfOwn}, {"home", ".config/gh", volumeOfOwn},
	{"home", ".config/gcloud", volumeOfOwn}, {"home", ".claude", volumeOfOwn}, {"home", ".claude.json", volumeOfOwn},
	{"home", ".npmrc", tokenAlone}, {"home", ".pypirc", tokenAlone}, {"home", ".netrc", tokenAlone},
	{"/", "dev", "name the one device: --device=/dev/NAME in runArgs, or devices in a Compose file"},
}

const (
	dotfiles    = "leave it out: editors install the dotfiles of a repository that each user names"
	tokenAlone  = "pass the one token that is needed, such as \"A_TOKEN\": \"${localEnv:A_TOKEN}\" in remoteEnv"
	volumeOfOwn = "mount a volume there, and log in inside"
)

// instead is the hint about a mount that sensitive names.
func instead(m rights.Mount) string {
	p := rights.Origin(m.Source)
	for _, s := range spared {
		if p.Base == s.base && p.Is(s.name) {
			return s.hint
		}
	}
	return "mount only the folder that is needed, and nothing that holds keys"
}

// sensitive says which part of the host a bind mount opens, or "".
func sensitive(m rights.Mount) string {
	if m.Type != "bind" || m.Source == "" {
		return ""
	}
	p := rights.Origin(m.Source)
	below := func(names []string) bool { return slices.ContainsFunc(names, p.Is) }
	switch {
	case p.Base == "/" && p.Path == ".":
		return "all files of the host"
	case p.Base == "/" && (below(harmless) || m.ReadOnly && below(readable)):
		return ""
	case p.Base == "/" && (slices.Contains(wholeDirs, p.Path) || below(systemDirs)):
		return "the host's /" + p.Path
	case p.Base == "home" && (p.Path == "." || p.Leaves()):
		return "the home folder of the host's user"
	case p.Base == "home" && below(homeSecrets):
		return "the host's ~/" + p.Path
	case p.Base == "/" && credentialPath.MatchString(p.Path):
		return "the host's /" + p.Path
	case p.Base == "workspace" && p.Leaves(), p.Base == "" && p.Leaves():
		return m.Source + ", a folder outside of the workspace"
	}
	return ""
}

// fromRootOrHome reports whether a mount's source is written from the host's root
// or the user's home folder.
func fromRootOrHome(m rights.Mount) bool {
	base := rights.Origin(m.Source).Base
	return base == "/" || base == "home"
}

// credentialPath finds a home folder that is written out.
var credentialPath = lazyregexp.New(`^(home|Users)/[^/]+($|/\.(ssh|aws|azure|kube|config|docker|gnupg|netrc|npmrc|claude|gitconfig|` +
	`git-credentials)($|/))`)

// outsideProject reports whether a path in a Compose file leads out of the
// project, or depends on the host.
func outsideProject(v *rule.View, name string) bool {
	p := rights.Origin(name)
	if p.Base == "workspace" || p.Base != "" || strings.Contains(name, "$") {
		return p.Base != "workspace"
	}
	full := path.Join(v.Dir, path.Dir(v.Composed.First), p.Path)
	return devcontainer.LeavesTree(full) || v.Home != "." && full != v.Home && !strings.HasPrefix(full, v.Home+"/")
}

// holdsProject reports whether a relative path in a Compose file is a folder that the project
// is in, and more than its repository.
func holdsProject(v *rule.View, name string) bool {
	if rights.Origin(name).Base != "" || strings.Contains(name, "$") {
		return false
	}
	full := path.Join(v.Dir, path.Dir(v.Composed.First), name)
	if devcontainer.LeavesTree(full) {
		return strings.Trim(full, "./") == ""
	}
	return !v.GitAbove() && full != v.Home && (full == "." || strings.HasPrefix(v.Home, full+"/"))
}
