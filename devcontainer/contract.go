package devcontainer

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/internal/jsonc"
)

var (
	firewallWord = regexp.MustCompile(`\b(sbx-init|init-firewall)\b`)
	firewallHook = regexp.MustCompile(`\b(sbx-init\s+run|init-firewall|ip6?tables(-restore)?|nft|ipset)\b`)
	// hooks run inside, in this order.
	hooks = []string{"onCreateCommand", "updateContentCommand", "postCreateCommand", "postStartCommand", "postAttachCommand"}
)

// sandboxed reports whether this configuration claims to be a sandbox: only
// then do the contract's rules apply.
func (c *view) sandboxed() bool { return c.isSandbox() }

func (c *view) looksSandboxed() bool {
	_, found := c.firewallFeature()
	found = found || c.Settings != nil || namesFirewall(c.dockerfileText())
	c.root.Walk(func(n *jsonc.Node) { found = found || n.Kind == jsonc.String && namesFirewall(n.Text) })
	for _, doc := range c.Compose {
		found = found || namesFirewall(string(doc.Src))
	}
	return found
}

// namesFirewall is firewallWord, after a look that costs less.
func namesFirewall(s string) bool {
	return (strings.Contains(s, "sbx-init") || strings.Contains(s, "init-firewall")) && firewallWord.MatchString(s)
}

func (c *view) dockerfileText() string {
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
	if feature, ok := c.firewallFeature(); ok {
		c.featureContract(feature)
		return
	}
	hooked := c.firewallInHook()
	switch dev := c.composed.dev(); {
	case c.root.Member("dockerComposeFile") == nil:
		c.singleContainer(hooked)
		c.undo(hooked)
	case dev == nil: // the files cannot be read
		c.overridden()
		c.undo(hooked)
	default:
		c.composeContract(dev, hooked)
	}
	c.writable()
	c.firewallProgram()
}

// singleContainer: the firewall and the agent share a container, so its
// ENTRYPOINT must run and may set a packet filter.
func (c *pass) singleContainer(hooked bool) {
	if !c.hasCapability("NET_ADMIN") {
		c.missing(c.root.Member("capAdd"), "SBX801", "the firewall needs the capability NET_ADMIN, which nothing adds",
			`add "capAdd": ["NET_ADMIN"]`).fix(c.listing("capAdd", "NET_ADMIN"))
	}
	if hooked {
		return
	}
	if !c.root.Member("overrideCommand").Is(false) {
		c.missing(c.root.Member("overrideCommand"), "SBX802", "the image's ENTRYPOINT is replaced, so the firewall in it never runs",
			`set "overrideCommand": false`).fix(c.setting("overrideCommand", "false"))
		return
	}
	c.neverStarted()
}

// neverStarted reports a Dockerfile whose own ENTRYPOINT starts something else.
func (c *pass) neverStarted() {
	if c.build == nil || c.build.final == nil {
		return
	}
	entrypoint, cmd := c.build.final.Start()
	if entrypoint == nil || firewallWord.MatchString(strings.Join(append(entrypoint, cmd...), " ")) || startsScript(entrypoint) {
		return
	}
	last := c.build.final.Last("ENTRYPOINT")
	c.inBuild(last.Start, last.HeadEnd, "SBX802", "this ENTRYPOINT does not raise the firewall",
		`start it with sbx-init: ENTRYPOINT ["/usr/local/sbin/sbx-init", "run", …]`)
}

// startsScript reports whether an entrypoint is a program of the project, which
// may raise the firewall itself.
func startsScript(entrypoint []string) bool {
	return slices.ContainsFunc(entrypoint, func(word string) bool {
		return strings.HasSuffix(word, ".sh") || strings.Contains(word, "entrypoint")
	})
}

func (c *pass) overridden() {
	if n := c.root.Member("overrideCommand"); truthy(n) {
		c.at(n, "SBX802", "the image's ENTRYPOINT is replaced, so the firewall in it never runs",
			`set "overrideCommand": false`).fix(c.setting("overrideCommand", "false"))
	}
}

// composeContract: either the dev container's service raises the firewall
// itself, or it joins the network of the service that does.
func (c *pass) composeContract(dev *compose.Service, hooked bool) {
	owner, own := c.networkOwner(dev)
	if own {
		c.overridden()
		if !c.serviceHas(dev, "NET_ADMIN") && !c.hasCapability("NET_ADMIN") {
			c.inCompose(nameOf(dev), "SBX801", "the firewall needs the capability NET_ADMIN, which nothing adds", "add cap_add: [NET_ADMIN]")
		}
		if n := dev.Get("entrypoint"); n != nil && !n.Null && !hooked &&
			!firewallWord.MatchString(strings.Join(append(n.Words(), dev.Get("command").Words()...), " ")) && !startsScript(n.Words()) {
			c.inCompose(n, "SBX802", "this entrypoint replaces the image's, so the firewall in it never runs",
				"leave entrypoint out, or start sbx-init in it")
		}
		c.undo(hooked)
		return
	}
	if owner != nil && !c.serviceHas(owner, "NET_ADMIN") {
		c.inCompose(nameOf(owner), "SBX801", fmt.Sprintf("the firewall in %s needs the capability NET_ADMIN, which nothing adds", owner.Name),
			"add cap_add: [NET_ADMIN]")
	}
	const message, hint = "the agent's container may change the firewall of the network that it joins", "leave it to the service that owns the network"
	if c.serviceHas(dev, "NET_ADMIN") {
		at := dev.Get("privileged")
		if !at.True() {
			at = dev.Get("cap_add")
		}
		c.inCompose(at, "SBX805", message, hint)
	} else if c.hasCapability("NET_ADMIN") {
		c.missing(c.root.Member("capAdd"), "SBX805", message, hint)
	}
}

// networkOwner returns the service whose network the dev container uses; own
// is true when that is itself, and the service is nil when nobody can tell.
func (c *view) networkOwner(dev *compose.Service) (owner *compose.Service, own bool) {
	mode := dev.Get("network_mode").String()
	if name, ok := strings.CutPrefix(mode, "service:"); ok {
		return c.composed.project.Service(name), false
	}
	if strings.HasPrefix(mode, "container:") {
		return nil, false
	}
	return dev, true
}

// has reports whether the rights that which picks hold a capability.
func (c *view) has(capability string, which func(rights.Right) bool) bool {
	return slices.ContainsFunc(c.of(rights.Capability, rights.Privileged), func(r rights.Right) bool {
		holds := r.Value == capability || r.Value == "ALL" || r.Kind == rights.Privileged && r.Name == ""
		return holds && which(r)
	})
}

func (c *view) serviceHas(s *compose.Service, capability string) bool {
	return c.has(capability, func(r rights.Right) bool { return r.Service != nil && r.Service.Name == s.Name })
}

// nameOf is a service's name as a place.
func nameOf(s *compose.Service) *compose.Node {
	return &compose.Node{Doc: s.Doc, Start: s.Start, End: s.End}
}

// firewallInHook reports a firewall that a lifecycle command raises, and tools
// that do not wait for it.
func (c *pass) firewallInHook() bool {
	found := false
	for at, hook := range hooks {
		n := c.root.Member(hook)
		n.Walk(func(s *jsonc.Node) {
			if found || s.Kind != jsonc.String || !firewallHook.MatchString(s.Text) {
				return
			}
			found = true
			c.at(n, "SBX803", hook+" raises the firewall: when it fails the container goes on without one",
				"raise it in the image's ENTRYPOINT with overrideCommand false, as sbx-devc init does")
			wait, ok := c.root.Member("waitFor").Str()
			if !ok {
				wait = "updateContentCommand"
			}
			if slices.Index(hooks, wait) < at {
				place := c.root.Member("waitFor")
				if place == nil {
					place = n
				}
				c.at(place, "SBX804", "tools attach after "+wait+" and do not wait for the firewall",
					`set "waitFor": "`+hook+`"`).fix(c.setting("waitFor", jsonc.Quote(hook)))
			}
		})
	}
	return found
}

// hasCapability reports whether the configuration itself adds a capability.
func (c *view) hasCapability(want string) bool {
	return c.has(want, func(r rights.Right) bool { return r.Notation == rights.Property || r.Notation == rights.Option })
}

// idleCapability reports NET_ADMIN in an agent's container that raises nothing.
func idleCapability(v *view) (out []finding) {
	if v.sandboxed() || !v.agent() {
		return nil
	}
	if elsewhere := v.root.Member("build") != nil || v.root.Member("dockerFile") != nil ||
		v.root.Member("dockerComposeFile") != nil; elsewhere && v.Tree == nil {
		return nil // of standard input nobody has seen the file that may raise one
	}
	for _, r := range v.of(rights.Capability) {
		if r.Value == "NET_ADMIN" && (r.Notation == rights.Property || r.Notation == rights.Option) {
			out = append(out, told(r, "NET_ADMIN is there, and nothing raises a firewall with it",
				"remove it, or let sbx-devc init write the sandbox"))
		}
	}
	return out
}

var sudo = regexp.MustCompile(`(?m)^[^#\n]*\b(sudo|NOPASSWD|sudoers)\b`)

// undo reports what gives the agent the rights that the firewall was built
// with. A session that an editor opens is a child of the engine, not of
// sbx-init: it has what the container's settings say.
func (c *pass) undo(hooked bool) {
	user, known := c.root.Member("remoteUser").Str()
	if !known {
		user, known = c.containerUser()
	}
	if s := c.composed.dev(); !known && s != nil && s.Get("user") != nil {
		user, known = s.Get("user").String(), true
	}
	if !known {
		user, known = c.build.user()
	}
	if !known || isRoot(user) {
		c.missing(c.root.Member("remoteUser"), "SBX805", "sessions run as root, who can change the firewall",
			`set "remoteUser" to an unprivileged user`)
		return
	}
	if c.noNewPrivileges() {
		return
	}
	c.setuidOpen(hooked)
}

// containerUser is who the file says the container runs as. The reference CLI
// puts runArgs behind containerUser, and the engine takes the last word.
func (c *view) containerUser() (user string, known bool) {
	for _, a := range c.args {
		if a.Flag == "user" {
			return a.Value, true
		}
	}
	return c.root.Member("containerUser").Str()
}

// noNewPrivileges reports whether the option is on. The engine takes the last
// word on it, and the reference CLI puts runArgs before securityOpt.
func (c *view) noNewPrivileges() bool {
	on := false
	for _, notation := range []rights.Notation{rights.Option, rights.Compose, rights.Property} {
		for _, r := range c.of(rights.SecurityOpt) {
			if rest, ok := strings.CutPrefix(r.Value, "no-new-privileges"); ok && r.Notation == notation && !r.Next {
				on = rest == "" || rights.IsOn(strings.TrimLeft(rest, ":="))
			}
		}
	}
	return on
}

// workspaceVolume returns the volume of the Compose service through which the
// agent writes to the project, nil when there is none.
func (c *view) workspaceVolume() *rights.Right {
	for _, r := range c.serviceMounts() {
		m := r.Mount
		if m.Type != "bind" || m.ReadOnly || path.IsAbs(m.Source) || strings.ContainsAny(m.Source, "$~") {
			continue
		}
		full := path.Join(c.Dir, path.Dir(c.composed.first), m.Source)
		if full == c.Home || leavesTree(full) || full == "." || strings.HasPrefix(c.Home, full+"/") {
			return &r
		}
	}
	return nil
}
