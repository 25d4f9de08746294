package contract

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// raising matches commands that raise a firewall.
var raising = lazyregexp.New(`\b(sbx-init\s+run|init-firewall|ip6?tables(-restore)?|nft|ipset)\b`)

// raisesItself reports whether the project's own files raise the firewall, and
// not the Feature.
func raisesItself(v *rule.View) bool {
	_, feature := v.FirewallFeature()
	return v.Sandboxed() && !feature
}

// single reports whether the firewall and the agent share a container that is
// not one of Compose's.
func single(v *rule.View) bool { return v.Root.Member("dockerComposeFile") == nil }

// capabilityMissing reports a firewall without NET_ADMIN.
func capabilityMissing(v *rule.View) []rule.Finding {
	const message = "the firewall needs the capability NET_ADMIN, which nothing adds"
	dev := v.Composed.Dev()
	switch {
	case !raisesItself(v), !single(v) && dev == nil:
		return nil
	case single(v):
		if hasCapability(v, "NET_ADMIN") {
			return nil
		}
		return []rule.Finding{v.AtMissing(v.Root.Member("capAdd"), message, `add "capAdd": ["NET_ADMIN"]`).
			FixedBy(v.Listing("capAdd", "NET_ADMIN"))}
	}
	owner, own := networkOwner(v, dev)
	if owner == nil || serviceHas(v, owner, "NET_ADMIN") || own && hasCapability(v, "NET_ADMIN") {
		return nil
	}
	if !own {
		return []rule.Finding{rule.AtCompose(nameOf(owner),
			fmt.Sprintf("the firewall in %s needs the capability NET_ADMIN, which nothing adds", owner.Name), "add cap_add: [NET_ADMIN]")}
	}
	return []rule.Finding{rule.AtCompose(nameOf(dev), message, "add cap_add: [NET_ADMIN]")}
}

// entrypointReplaced reports a firewall in the image's ENTRYPOINT that never runs.
func entrypointReplaced(v *rule.View) []rule.Finding {
	if !raisesItself(v) {
		return nil
	}
	dev, override := v.Composed.Dev(), v.Root.Member("overrideCommand")
	_, hooked := firewallHook(v)
	var owns bool
	if dev != nil {
		_, owns = networkOwner(v, dev)
	}
	var out []rule.Finding
	switch {
	case single(v) && hooked, dev != nil && !owns:
		return nil
	case single(v) && !override.Is(false), !single(v) && rights.Truthy(override):
		out = append(out, v.AtMissing(override, "the image's ENTRYPOINT is replaced, so the firewall in it never runs",
			`set "overrideCommand": false`).FixedBy(v.Setting("overrideCommand", "false")))
	case single(v):
		return neverStarted(v)
	}
	if dev == nil {
		return out
	}
	if entrypoint, command := v.Start(); entrypoint.Notation == rights.Compose && !hooked && startsElse(entrypoint, command) {
		out = append(out, rule.AtRight(entrypoint, "this entrypoint replaces the image's, so the firewall in it never runs",
			"leave entrypoint out, or start sbx-init in it"))
	}
	return out
}

// neverStarted reports a Dockerfile whose own ENTRYPOINT starts something else.
func neverStarted(v *rule.View) []rule.Finding {
	entrypoint, command := v.Start()
	if entrypoint.Words == nil || !startsElse(entrypoint, command) {
		return nil
	}
	return []rule.Finding{rule.AtRight(entrypoint, "this ENTRYPOINT does not raise the firewall",
		`start it with sbx-init: ENTRYPOINT ["/usr/local/sbin/sbx-init", "run", …]`)}
}

// startsElse reports whether the first process neither raises the firewall nor is a
// program of the project, which may raise it itself.
func startsElse(entrypoint, command rights.Right) bool {
	script := func(word string) bool { return strings.HasSuffix(word, ".sh") || strings.Contains(word, "entrypoint") }
	return !rule.FirewallWord.MatchString(entrypoint.Value+" "+command.Value) && !slices.ContainsFunc(entrypoint.Words, script)
}

// changesOwner reports an agent's container that may change the firewall of the
// service whose network it joins.
func changesOwner(v *rule.View, dev *compose.Service) []rule.Finding {
	const message = "the agent's container may change the firewall of the network that it joins"
	const hint = "leave it to the service that owns the network"
	if i := slices.IndexFunc(v.Rights, func(r rights.Right) bool { return holds(r, "NET_ADMIN") && isOf(r, dev) }); i >= 0 {
		return []rule.Finding{rule.AtRight(v.Rights[i], message, hint)}
	}
	if hasCapability(v, "NET_ADMIN") {
		return []rule.Finding{v.AtMissing(v.Root.Member("capAdd"), message, hint)}
	}
	return nil
}

// networkOwner returns the service whose network the dev container uses; own
// is true when that is itself, and the service is nil when it is not known.
func networkOwner(c *rule.View, dev *compose.Service) (owner *compose.Service, own bool) {
	for _, r := range c.Of(rights.Namespace) {
		if r.Key != "network_mode" || !isOf(r, dev) {
			continue
		}
		if _, container, service := r.Joins(); container != "" || service != "" {
			return c.Composed.Project.Service(service), false
		}
	}
	return dev, true
}

// holds reports whether a right gives a capability to the container.
func holds(r rights.Right, capability string) bool {
	switch r.Kind {
	case rights.Capability:
		return r.Value == capability || r.Value == "ALL"
	case rights.Privileged:
		return r.Name == ""
	}
	return false
}

// isOf reports whether a service gets a right.
func isOf(r rights.Right, s *compose.Service) bool {
	return r.Service != nil && r.Service.Name == s.Name
}

func serviceHas(c *rule.View, s *compose.Service, capability string) bool {
	return slices.ContainsFunc(c.Rights, func(r rights.Right) bool { return holds(r, capability) && isOf(r, s) })
}

// nameOf is a service's name as a place.
func nameOf(s *compose.Service) *compose.Node {
	return &compose.Node{Doc: s.Doc, Start: s.Start, End: s.End}
}

// firewallHook returns the first lifecycle command that raises a firewall. A label's does
// not: the container starts once before tools obey that.
func firewallHook(v *rule.View) (hook rights.Right, ok bool) {
	hooks := v.Of(rights.Hook)
	slices.SortStableFunc(hooks, func(a, b rights.Right) int {
		return slices.Index(rights.Hooks, a.Key) - slices.Index(rights.Hooks, b.Key)
	})
	for _, r := range hooks {
		if r.Notation == rights.Label {
			continue
		}
		r.Node.Walk(func(s *jsonc.Node) { ok = ok || s.Kind == jsonc.String && raising.MatchString(s.Text) })
		if ok {
			return r, true
		}
	}
	return hook, false
}

// firewallInHook reports a firewall that a lifecycle command raises.
func firewallInHook(v *rule.View) []rule.Finding {
	hook, ok := firewallHook(v)
	if !ok || !raisesItself(v) {
		return nil
	}
	return []rule.Finding{v.PolicyFinding(hook, hook.Key+" raises the firewall: when it fails the container goes on without one",
		"raise it in the image's ENTRYPOINT with overrideCommand false, as sbx-devc init does")}
}

// attachedEarly reports tools that do not wait for such a firewall.
func attachedEarly(v *rule.View) []rule.Finding {
	hook, ok := firewallHook(v)
	place := v.Root.Member("waitFor")
	wait, set := place.Str()
	if !set {
		wait = "updateContentCommand"
	}
	if !ok || !raisesItself(v) || slices.Index(rights.Hooks, wait) >= slices.Index(rights.Hooks, hook.Key) {
		return nil
	}
	if place != nil {
		hook = rights.Right{Key: hook.Key, Place: rights.Place{Doc: v.Config, Start: place.Start, End: place.End, Pointer: place.Pointer}}
	}
	return []rule.Finding{v.PolicyFinding(hook, "tools attach after "+wait+" and do not wait for the firewall",
		`set "waitFor": "`+hook.Key+`"`).FixedBy(v.Setting("waitFor", jsonc.Quote(hook.Key)))}
}

// hasCapability reports whether the configuration itself adds a capability.
func hasCapability(c *rule.View, want string) bool {
	return slices.ContainsFunc(c.Rights, func(r rights.Right) bool {
		return holds(r, want) && (r.Notation == rights.Property || r.Notation == rights.Option)
	})
}

// idleCapability reports NET_ADMIN in an agent's container that raises nothing.
func idleCapability(v *rule.View) (out []rule.Finding) {
	if v.Sandboxed() || !v.Agent() {
		return nil
	}
	if elsewhere := v.Root.Member("build") != nil || v.Root.Member("dockerFile") != nil ||
		v.Root.Member("dockerComposeFile") != nil; elsewhere && v.Tree == nil {
		return nil // with text from standard input, the file that may raise one was not read
	}
	for _, r := range v.Of(rights.Capability) {
		if r.Value == "NET_ADMIN" && (r.Notation == rights.Property || r.Notation == rights.Option) {
			out = append(out, rule.AtRight(r, "NET_ADMIN is there, and nothing raises a firewall with it",
				"remove it, or let sbx-devc init write the sandbox"))
		}
	}
	return out
}

var sudo = lazyregexp.New(`(?m)^[^#\n]*\b(sudo|NOPASSWD|sudoers)\b`)

// undone reports what gives the agent the rights that the firewall was built
// with. A session that an editor opens is a child of the engine, not of
// sbx-init: it has what the container's settings say.
func undone(v *rule.View) []rule.Finding {
	if !v.Sandboxed() {
		return nil
	}
	if feature, ok := v.FirewallFeature(); ok {
		return append(featureUsers(v, feature), privilegesBack(v)...)
	}
	dev := v.Composed.Dev()
	if dev != nil {
		if _, own := networkOwner(v, dev); !own {
			return changesOwner(v, dev)
		}
	}
	user, known := v.SessionUser()
	if !known || rule.IsRoot(user) {
		message := "sessions run as root, who can change the firewall"
		if user != "" && !known {
			message = "a variable names the user of sessions, who may be root and change the firewall"
		}
		return []rule.Finding{v.AtMissing(v.Root.Member("remoteUser"), message, `set "remoteUser" to an unprivileged user`)}
	}
	if noNewPrivileges(v) {
		return nil
	}
	return []rule.Finding{setuidOpen(v)}
}

// noNewPrivileges reports whether the option is on. The engine takes the last
// word on it, and the reference CLI puts runArgs before securityOpt.
func noNewPrivileges(c *rule.View) bool {
	on := false
	for _, notation := range []rights.Notation{rights.Option, rights.Compose, rights.Property} {
		for _, r := range c.Of(rights.SecurityOpt) {
			if rest, ok := strings.CutPrefix(r.Value, "no-new-privileges"); ok && r.Notation == notation && !r.Next {
				on = rest == "" || rights.IsOn(strings.TrimLeft(rest, ":="))
			}
		}
	}
	return on
}

// workspaceVolume returns the volume of the Compose service through which the
// agent writes to the project, nil when there is none.
func workspaceVolume(c *rule.View) *rights.Right {
	for _, r := range c.ServiceMounts() {
		m := r.Mount
		if m.Type != "bind" || m.ReadOnly || path.IsAbs(m.Source) || strings.ContainsAny(m.Source, "$~") {
			continue
		}
		full := path.Join(c.Dir, path.Dir(c.Composed.First), m.Source)
		if full == c.Home || devcontainer.LeavesTree(full) || full == "." || strings.HasPrefix(c.Home, full+"/") {
			return &r
		}
	}
	return nil
}
