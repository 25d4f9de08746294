package devcontainer

import (
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// contractRules hold the configuration of a sandbox to its promises.
var contractRules = []Rule{
	{ID: "SBX801", Name: "firewall-capability", Severity: diag.SeverityError, Title: "the firewall lacks NET_ADMIN",
		Reason: "sbx-init cannot set a packet filter without it, so it ends before the agent starts and the container never comes up.",
		Bad:    sandboxWith(`"capAdd": ["NET_ADMIN"],`, ``),
		Good:   withSettings("{}"),
		check:  (*pass).contract},
	{ID: "SBX802", Name: "entrypoint-replaced", Severity: diag.SeverityError, Title: "the firewall in the image's ENTRYPOINT never runs",
		Reason: "The reference CLI replaces the ENTRYPOINT by a shell unless overrideCommand is false: the container starts without its firewall and nothing says so.",
		Bad:    sandboxWith(`"overrideCommand": false,`, ``),
		Good:   withSettings("{}")},
	{ID: "SBX803", Name: "firewall-in-hook", Severity: diag.SeverityError, Title: "the firewall starts in a hook, which fails open",
		Reason: "When a lifecycle command fails the container goes on, and the next start reports success. Tools also attach before the command has run.",
		Bad:    sandboxWith(`"overrideCommand": false`, `"postStartCommand": "sudo /usr/local/bin/init-firewall.sh"`),
		Good:   withSettings("{}")},
	{ID: "SBX805", Name: "agent-undoes-firewall", Severity: diag.SeverityError, Title: "the agent can undo the firewall",
		Reason: "A session that an editor opens is a child of the engine and has the container's rights: as root, or through a setuid program, it changes the packet filter.",
		Bad:    sandboxWith(`"remoteUser": "agent"`, `"remoteUser": "root"`),
		Good:   withSettings("{}")},
	{ID: "SBX806", Name: "configuration-writable", Severity: diag.SeverityError, Title: ".devcontainer can be changed from inside",
		Reason: "The next rebuild runs on the host what the agent wrote there: mounts, options of the engine, initializeCommand.",
		Bad:    sandboxWith(`,readonly`, ``),
		Good:   withSettings("{}")},
	{ID: "SBX807", Name: "git-writable", Severity: diag.SeverityError, Title: "git hooks or configuration can be changed from inside",
		Reason: "git on the host runs hooks and the commands in its configuration, such as a pager or a file-system monitor, the next time somebody uses it there.",
		Bad:    sandboxWith(``, ``) + "-- .git/HEAD --\n",
		Good:   withSettings("{}")},
}

var (
	firewallWord = regexp.MustCompile(`\b(sbx-init|init-firewall)\b`)
	firewallHook = regexp.MustCompile(`\b(sbx-init\s+run|init-firewall|ip6?tables(-restore)?|nft|ipset)\b`)
	hooks        = []string{"onCreateCommand", "updateContentCommand", "postCreateCommand", "postStartCommand", "postAttachCommand"}
)

// sandboxed reports whether this configuration claims to be a sandbox: only
// then do the contract's rules apply.
func (c *pass) sandboxed() bool {
	if c.Settings != nil || firewallWord.MatchString(c.dockerfileText()) {
		return true
	}
	found := false
	c.root.Walk(func(n *jsonc.Node) { found = found || n.Kind == jsonc.String && firewallWord.MatchString(n.Text) })
	return found
}

func (c *pass) dockerfileText() string {
	if c.Dockerfile == nil {
		return ""
	}
	return string(c.Dockerfile.Src)
}

// contract reports what breaks the sandbox's promises.
func (c *pass) contract() {
	if !c.sandboxed() {
		return
	}
	root := c.root
	hooked := c.firewallInHook()
	if root.Member("dockerComposeFile") == nil { // the Compose file is not looked at
		if !c.hasCapability("NET_ADMIN") {
			c.missing(root.Member("capAdd"), "SBX801", "the firewall needs the capability NET_ADMIN, which nothing adds", `add "capAdd": ["NET_ADMIN"]`)
		}
		if !hooked && !root.Member("overrideCommand").Is(false) {
			c.missing(root.Member("overrideCommand"), "SBX802", "the image's ENTRYPOINT is replaced, so the firewall in it never runs", `set "overrideCommand": false`)
		}
	} else if truthy(root.Member("overrideCommand")) {
		c.at(root.Member("overrideCommand"), "SBX802", "the image's ENTRYPOINT is replaced, so the firewall in it never runs", `set "overrideCommand": false`)
	}
	c.undo()
	c.writable()
}

func (c *pass) firewallInHook() bool {
	found := false
	for _, hook := range hooks {
		n := c.root.Member(hook)
		n.Walk(func(s *jsonc.Node) {
			if !found && s.Kind == jsonc.String && firewallHook.MatchString(s.Text) {
				found = true
				c.at(n, "SBX803", hook+" raises the firewall: when it fails the container goes on without one", "raise it in the image's ENTRYPOINT with overrideCommand false, as sbx-devc init does")
			}
		})
	}
	return found
}

func (c *pass) hasCapability(want string) bool {
	names := texts(c.root.Member("capAdd"))
	is := func(s string) bool {
		s = strings.TrimPrefix(strings.ToUpper(s), "CAP_")
		return s == want || s == "ALL"
	}
	return truthy(c.root.Member("privileged")) ||
		slices.ContainsFunc(names, func(n *jsonc.Node) bool { return is(n.Text) }) ||
		slices.ContainsFunc(c.args, func(a runArg) bool {
			return a.flag == "cap-add" && is(a.value) || a.flag == "privileged" && isOn(a.value)
		})
}

var sudo = regexp.MustCompile(`(?m)^[^#\n]*\b(sudo|NOPASSWD|sudoers)\b`)

// undo reports what gives the agent the rights that the firewall was built
// with. A session that an editor opens is a child of the engine, not of
// sbx-init: it has what the container's settings say.
func (c *pass) undo() {
	user, known := c.root.Member("remoteUser").Str()
	if !known {
		user, known = c.root.Member("containerUser").Str()
	}
	if !known {
		user, known = c.build.user()
	}
	name, _, _ := strings.Cut(user, ":")
	if !known || name == "root" || name == "0" {
		c.missing(c.root.Member("remoteUser"), "SBX805", "sessions run as root, who can change the firewall", `set "remoteUser" to an unprivileged user`)
		return
	}
	if c.noNewPrivileges() {
		return
	}
	message := "a setuid program gives the agent the container's capabilities, NET_ADMIN among them"
	if sudo.MatchString(c.dockerfileText()) {
		message = "sudo gives the agent the container's capabilities, NET_ADMIN among them"
	}
	c.missing(c.root.Member("securityOpt"), "SBX805", message, `add "securityOpt": ["no-new-privileges"]`)
}

func (c *pass) noNewPrivileges() bool {
	on := func(s string) bool {
		rest, ok := strings.CutPrefix(s, "no-new-privileges")
		return ok && (rest == "" || isOn(strings.TrimLeft(rest, ":=")))
	}
	return slices.ContainsFunc(texts(c.root.Member("securityOpt")), func(n *jsonc.Node) bool { return on(n.Text) }) ||
		slices.ContainsFunc(c.args, func(a runArg) bool { return a.flag == "security-opt" && on(a.value) })
}

// writable reports what the agent could change and the host would run.
func (c *pass) writable() {
	compose := c.root.Member("dockerComposeFile") != nil
	workspace, custom := c.root.Member("workspaceMount").Str()
	if compose || custom && !hostWritable(parseMount(workspace, nil)) {
		return
	}
	config := "/.devcontainer"
	if !c.InFolder() && c.Tree != nil {
		config = "/.devcontainer.json"
	}
	if !c.covered(config, true) {
		c.missing(c.root.Member("mounts"), "SBX806", config[1:]+" is writable from inside, and the next rebuild runs what it says on the host",
			`add to "mounts": "type=bind,source=${localWorkspaceFolder}`+config+`,target=${containerWorkspaceFolder}`+config+`,readonly"`)
	}
	if !c.GitHere() && (!c.GitAbove() || custom) {
		return
	}
	if c.covered("/.git", true) {
		return
	}
	for _, p := range []string{"/.git/hooks", "/.git/config"} {
		if !c.covered(p, true) {
			c.missing(c.root.Member("mounts"), "SBX807", p[1:]+" is writable from inside, and git on the host runs what it says", "mount it over itself, readonly; sbx-devc init writes the lines")
		}
	}
	if !c.covered("/.git", false) {
		c.missing(c.root.Member("mounts"), "SBX807", ".git is no mount point, so the agent can rename it with the read-only mounts inside and put another in its place", "mount .git over itself, writable; sbx-devc init writes the lines")
	}
}

func hostWritable(m mount) bool { return m.kind == "bind" && !m.readonly }

// covered reports whether the path, relative to the workspace with a leading
// slash, is a mount point; with readonly, one that cannot be written to.
func (c *pass) covered(p string, readonly bool) bool {
	return slices.ContainsFunc(c.mounts, func(m mount) bool {
		return strings.HasSuffix(strings.TrimRight(m.target, "/"), p) && (m.readonly || !readonly)
	})
}
