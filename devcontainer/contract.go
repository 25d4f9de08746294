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

// raisesItself reports whether the project's own files raise the firewall, and
// not the Feature.
func (v *view) raisesItself() bool {
	_, feature := v.firewallFeature()
	return v.sandboxed() && !feature
}

// single reports whether the firewall and the agent share a container that is
// not one of Compose's.
func (v *view) single() bool { return v.root.Member("dockerComposeFile") == nil }

// capabilityMissing reports a firewall without NET_ADMIN.
func capabilityMissing(v *view) []finding {
	const message = "the firewall needs the capability NET_ADMIN, which nothing adds"
	dev := v.Composed.dev()
	switch {
	case !v.raisesItself(), !v.single() && dev == nil:
		return nil
	case v.single():
		if v.hasCapability("NET_ADMIN") {
			return nil
		}
		return []finding{v.atMissing(v.root.Member("capAdd"), message, `add "capAdd": ["NET_ADMIN"]`).fixedBy(v.listing("capAdd", "NET_ADMIN"))}
	}
	owner, own := v.networkOwner(dev)
	if owner == nil || v.serviceHas(owner, "NET_ADMIN") || own && v.hasCapability("NET_ADMIN") {
		return nil
	}
	if !own {
		return []finding{atCompose(nameOf(owner), fmt.Sprintf("the firewall in %s needs the capability NET_ADMIN, which nothing adds", owner.Name),
			"add cap_add: [NET_ADMIN]")}
	}
	return []finding{atCompose(nameOf(dev), message, "add cap_add: [NET_ADMIN]")}
}

// entrypointReplaced reports a firewall in the image's ENTRYPOINT that never runs.
func entrypointReplaced(v *view) []finding {
	if !v.raisesItself() {
		return nil
	}
	dev, override := v.Composed.dev(), v.root.Member("overrideCommand")
	_, _, hooked := v.firewallHook()
	var owns bool
	if dev != nil {
		_, owns = v.networkOwner(dev)
	}
	var out []finding
	switch {
	case v.single() && hooked, dev != nil && !owns:
		return nil
	case v.single() && !override.Is(false), !v.single() && rights.Truthy(override):
		out = append(out, v.atMissing(override, "the image's ENTRYPOINT is replaced, so the firewall in it never runs",
			`set "overrideCommand": false`).fixedBy(v.setting("overrideCommand", "false")))
	case v.single():
		return v.neverStarted()
	}
	if dev == nil {
		return out
	}
	if n := dev.Get("entrypoint"); n != nil && !n.Null && !hooked &&
		!firewallWord.MatchString(strings.Join(append(n.Words(), dev.Get("command").Words()...), " ")) && !startsScript(n.Words()) {
		out = append(out, atCompose(n, "this entrypoint replaces the image's, so the firewall in it never runs",
			"leave entrypoint out, or start sbx-init in it"))
	}
	return out
}

// neverStarted reports a Dockerfile whose own ENTRYPOINT starts something else.
func (v *view) neverStarted() []finding {
	if v.Build == nil || v.Build.final == nil {
		return nil
	}
	entrypoint, cmd := v.Build.final.Start()
	if entrypoint == nil || firewallWord.MatchString(strings.Join(append(entrypoint, cmd...), " ")) || startsScript(entrypoint) {
		return nil
	}
	last := v.Build.final.Last("ENTRYPOINT")
	return []finding{v.atDockerfile(last.Start, last.HeadEnd, "this ENTRYPOINT does not raise the firewall",
		`start it with sbx-init: ENTRYPOINT ["/usr/local/sbin/sbx-init", "run", …]`)}
}

// startsScript reports whether an entrypoint is a program of the project, which
// may raise the firewall itself.
func startsScript(entrypoint []string) bool {
	return slices.ContainsFunc(entrypoint, func(word string) bool {
		return strings.HasSuffix(word, ".sh") || strings.Contains(word, "entrypoint")
	})
}

// changesOwner reports an agent's container that may change the firewall of the
// service whose network it joins.
func (v *view) changesOwner(dev *compose.Service) []finding {
	const message, hint = "the agent's container may change the firewall of the network that it joins", "leave it to the service that owns the network"
	switch {
	case v.serviceHas(dev, "NET_ADMIN"):
		at := dev.Get("privileged")
		if !at.True() {
			at = dev.Get("cap_add")
		}
		return []finding{atCompose(at, message, hint)}
	case v.hasCapability("NET_ADMIN"):
		return []finding{v.atMissing(v.root.Member("capAdd"), message, hint)}
	}
	return nil
}

// networkOwner returns the service whose network the dev container uses; own
// is true when that is itself, and the service is nil when nobody can tell.
func (c *view) networkOwner(dev *compose.Service) (owner *compose.Service, own bool) {
	mode := dev.Get("network_mode").String()
	if name, ok := strings.CutPrefix(mode, "service:"); ok {
		return c.Composed.project.Service(name), false
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

// firewallHook returns the lifecycle command that raises a firewall, and its
// place among the hooks.
func (v *view) firewallHook() (n *jsonc.Node, at int, ok bool) {
	for at, hook := range hooks {
		n := v.root.Member(hook)
		n.Walk(func(s *jsonc.Node) { ok = ok || s.Kind == jsonc.String && firewallHook.MatchString(s.Text) })
		if ok {
			return n, at, true
		}
	}
	return nil, 0, false
}

// firewallInHook reports a firewall that a lifecycle command raises.
func firewallInHook(v *view) []finding {
	n, at, ok := v.firewallHook()
	if !ok || !v.raisesItself() {
		return nil
	}
	return []finding{v.atValue(n, hooks[at]+" raises the firewall: when it fails the container goes on without one",
		"raise it in the image's ENTRYPOINT with overrideCommand false, as sbx-devc init does")}
}

// attachedEarly reports tools that do not wait for such a firewall.
func attachedEarly(v *view) []finding {
	n, at, ok := v.firewallHook()
	place := v.root.Member("waitFor")
	wait, set := place.Str()
	if !set {
		wait = "updateContentCommand"
	}
	if !ok || !v.raisesItself() || slices.Index(hooks, wait) >= at {
		return nil
	}
	if place == nil {
		place = n
	}
	return []finding{v.atValue(place, "tools attach after "+wait+" and do not wait for the firewall",
		`set "waitFor": "`+hooks[at]+`"`).fixedBy(v.setting("waitFor", jsonc.Quote(hooks[at])))}
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
			out = append(out, atRight(r, "NET_ADMIN is there, and nothing raises a firewall with it",
				"remove it, or let sbx-devc init write the sandbox"))
		}
	}
	return out
}

var sudo = regexp.MustCompile(`(?m)^[^#\n]*\b(sudo|NOPASSWD|sudoers)\b`)

// undone reports what gives the agent the rights that the firewall was built
// with. A session that an editor opens is a child of the engine, not of
// sbx-init: it has what the container's settings say.
func undone(v *view) []finding {
	if !v.sandboxed() {
		return nil
	}
	if feature, ok := v.firewallFeature(); ok {
		return append(v.featureUsers(feature), v.privilegesBack()...)
	}
	dev := v.Composed.dev()
	if dev != nil {
		if _, own := v.networkOwner(dev); !own {
			return v.changesOwner(dev)
		}
	}
	user, known := v.root.Member("remoteUser").Str()
	if !known {
		user, known = v.containerUser()
	}
	if dev != nil && !known && dev.Get("user") != nil {
		user, known = dev.Get("user").String(), true
	}
	if !known {
		user, known = v.Build.user()
	}
	if !known || isRoot(user) {
		return []finding{v.atMissing(v.root.Member("remoteUser"), "sessions run as root, who can change the firewall",
			`set "remoteUser" to an unprivileged user`)}
	}
	if v.noNewPrivileges() {
		return nil
	}
	return []finding{v.setuidOpen()}
}

// containerUser is who the file says the container runs as. The reference CLI
// puts runArgs behind containerUser, and the engine takes the last word.
func (c *view) containerUser() (user string, known bool) {
	for _, a := range c.RunArgs {
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
		full := path.Join(c.Dir, path.Dir(c.Composed.first), m.Source)
		if full == c.Home || leavesTree(full) || full == "." || strings.HasPrefix(c.Home, full+"/") {
			return &r
		}
	}
	return nil
}
