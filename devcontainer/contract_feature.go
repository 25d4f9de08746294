package devcontainer

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// firewallFeature returns the firewall Feature among the configuration's, under
// any version, of any publisher, as a tarball or in a folder.
func (c *view) firewallFeature() (jsonc.Member, bool) {
	features := c.root.Member("features")
	if features == nil {
		return jsonc.Member{}, false
	}
	i := slices.IndexFunc(features.Members, func(m jsonc.Member) bool { return c.raisesFirewall(m.Name) })
	if i < 0 {
		return jsonc.Member{}, false
	}
	return features.Members[i], true
}

// raisesFirewall reports whether id names the firewall Feature.
func (c *view) raisesFirewall(id string) bool {
	switch sourceOf(id) {
	case registryFeature:
		name, _, _ := splitImage(id)
		return path.Base(name) == "firewall"
	case tarballFeature:
		return path.Base(id) == "devcontainer-feature-firewall.tgz"
	case localFeature:
		meta := c.localFeature(id)
		if meta == nil {
			return path.Base(id) == "firewall"
		}
		entrypoint, _ := meta.Member("entrypoint").Str()
		return strings.Contains(entrypoint, "/sbx/")
	}
	return false
}

// localFeature returns the metadata of a Feature of the repository, or nil.
func (c *view) localFeature(id string) *jsonc.Node {
	if doc := c.featureMetadata(id); doc != nil {
		return doc.Root
	}
	return nil
}

// firstProcess reports a container with the firewall Feature whose first process
// is not root's, who raises the firewall.
func firstProcess(v *view) (out []finding) {
	if _, ok := v.firewallFeature(); !ok || !v.sandboxed() {
		return nil
	}
	const hint = `name the agent's user in "remoteUser" and leave the first process to root`
	message := func(user string) string {
		return fmt.Sprintf("the container starts as %s, who cannot raise the firewall, and ends", user)
	}
	known := false
	for _, r := range v.of(rights.User) {
		switch {
		case r.Next:
		case r.Notation == rights.Compose:
			if !known && !isRoot(r.Value) && !strings.Contains(r.Value, "$") {
				out = append(out, atRight(r, message(r.Value), hint))
				known = true
			}
		case !isRoot(r.Value):
			out = append(out, atRight(r, message(r.Value), hint))
			known = true
		default:
			known = known || r.Notation == rights.Property
		}
	}
	if user, ok := v.Build.user(); ok && !known && !isRoot(user) {
		last := v.Build.final.Last("USER")
		out = append(out, finding{Place: rights.Place{Doc: v.Build.file.Doc, Start: last.Start, End: last.HeadEnd}, message: message(user),
			hint: hint + `, with "containerUser": "root"`})
	}
	return out
}

// featureUsers reports an agent that is root, who can take the firewall away.
func (c *view) featureUsers(feature jsonc.Member) []finding {
	const message, hint = "the agent would be root, who can change the firewall; the Feature's build refuses that", `set "remoteUser" to another user of the image`
	switch n := c.namedUser(); {
	case n != nil && isRoot(n.Text):
		return []finding{c.atValue(n, message, hint)}
	case n == nil && c.startsAsRoot():
		return []finding{c.atName(feature, message, hint)}
	}
	return nil
}

// startsAsRoot reports whether nothing but root can be the image's user: what
// Docker Hub's own images have. Others may name a user in a label.
func (c *view) startsAsRoot() bool {
	image, _ := c.root.Member("image").Str()
	if s := c.Composed.dev(); s != nil {
		if s.Get("user") != nil {
			return isRoot(s.Get("user").String())
		}
		image = s.Get("image").String()
	}
	if user, ok := c.Build.user(); ok {
		return isRoot(user)
	}
	if c.Build != nil && c.Build.final != nil {
		image = c.Build.final.Base().Image
	}
	return image != "" && !strings.Contains(image, "$") && strings.HasPrefix(registryName(image), "docker.io/library/")
}

// privilegesBack reports no-new-privileges that is switched off again.
func (c *view) privilegesBack() (out []finding) {
	for _, r := range c.of(rights.SecurityOpt) {
		rest, ok := strings.CutPrefix(r.Value, "no-new-privileges")
		if !ok || rest == "" || rights.IsOn(strings.TrimLeft(rest, ":=")) || !r.Own() {
			continue
		}
		out = append(out, atRight(r, "a setuid program gives the agent the container's capabilities, NET_ADMIN among them",
			"leave it out; the Feature sets no-new-privileges"))
	}
	return out
}

// ours reports whether the firewall is our own, in the container of the agent:
// by the Feature, or in an image with sbx-init.
func (c *view) ours() bool {
	if !c.sandboxed() {
		return false
	}
	_, feature := c.firewallFeature()
	return feature || c.root.Member("dockerComposeFile") == nil && (c.Settings != nil || strings.Contains(c.dockerfileText(), "sbx-init"))
}

// gateSkipped reports shells that do not wait for the firewall: the gate lies
// where login shells read it.
func gateSkipped(v *view) []finding {
	n := v.root.Member("userEnvProbe")
	probe, _ := n.Str()
	login := map[string]string{"none": "loginShell", "interactiveShell": "loginInteractiveShell"}[probe]
	if login == "" || !v.ours() {
		return nil
	}
	f := v.atValue(n, "lifecycle commands and tools do not wait for the firewall: no login shell comes before them",
		`set it to "`+login+`", or leave it out`)
	f.edits = jsonc.Replace(n, jsonc.Quote(login))
	return []finding{f}
}

// firewallParts are what the firewall consists of in the container.
var firewallParts = []string{"/usr/local/sbin/sbx-init", "/usr/local/share/sbx", "/etc/sbx", "/run/sbx", "/etc/profile", "/etc/profile.d",
	"/etc/zsh/zshenv"}

// firewallCovered reports mounts that lie over those parts, or on the way there.
func firewallCovered(v *view) (out []finding) {
	if !v.ours() {
		return nil
	}
	for _, r := range v.of(rights.Mounted, rights.Granted) {
		m := r.Mount
		target := path.Clean("/" + strings.TrimLeft(m.Target, "/"))
		switch {
		case r.Next, m.Target == "", strings.Contains(m.Target, "${"), r.Kind == rights.Granted && !path.IsAbs(m.Target):
			continue
		case m.Type == "tmpfs" && strings.HasPrefix(target, "/run"):
			continue // /run is empty at each start anyway
		}
		for _, part := range firewallParts {
			if target != part && !strings.HasPrefix(part, target+"/") && !strings.HasPrefix(target, part+"/") {
				continue
			}
			message, hint := fmt.Sprintf("the mount at %s lies over %s, which belongs to the firewall", m.Target, part), "mount it elsewhere"
			f := v.policyFinding(r, message, hint)
			if r.Notation == rights.Compose {
				f.Place = r.TargetAt
			}
			out = append(out, f)
			break
		}
	}
	return out
}

// openingParameters are parameters of the kernel's network that let packets go
// where the firewall's rules do not expect them, and the value that does no harm
// ("" for none).
var openingParameters = []struct{ pattern, harmless string }{
	{"net.ipv4.ip_forward", "0"}, {"net.ipv4.conf.*.forwarding", "0"}, {"net.ipv6.conf.*.forwarding", "0"},
	{"net.ipv4.conf.*.mc_forwarding", "0"},
	{"net.ipv4.conf.*.route_localnet", "0"}, {"net.ipv4.conf.*.accept_local", "0"},
	{"net.ipv4.conf.*.accept_source_route", "0"}, {"net.ipv6.conf.*.accept_source_route", "0"}, {"net.ipv6.conf.*.seg6_enabled", "0"},
	{"net.ipv4.conf.*.accept_redirects", "0"}, {"net.ipv6.conf.*.accept_redirects", "0"},
	{"net.ipv4.ip_nonlocal_bind", "0"}, {"net.ipv6.ip_nonlocal_bind", "0"},
	{"net.ipv4.ip_local_port_range", ""}, {"net.netfilter.*", ""},
}

// networkParameters reports those that the configuration sets, for the dev
// container or for the service whose network it joins.
func networkParameters(v *view) (out []finding) {
	if !v.sandboxed() {
		return nil
	}
	var owner *compose.Service
	if dev := v.Composed.dev(); dev != nil {
		owner, _ = v.networkOwner(dev)
	}
	for _, r := range v.of(rights.Sysctl) {
		if r.Next && (owner == nil || owner.Name != r.Service.Name) {
			continue
		}
		for _, p := range openingParameters {
			if ok, _ := path.Match(p.pattern, r.Name); ok && (p.harmless == "" || r.Value != p.harmless) {
				out = append(out, atRight(r, fmt.Sprintf("%s=%s changes the network below the firewall", r.Name, r.Value),
					"leave it at the kernel's default"))
				break
			}
		}
	}
	return out
}
