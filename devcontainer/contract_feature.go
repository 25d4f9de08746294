package devcontainer

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// firewallFeature returns the firewall Feature among the configuration's, under
// any version, of any publisher, as a tarball or in a folder.
func (c *pass) firewallFeature() (jsonc.Member, bool) {
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
func (c *pass) raisesFirewall(id string) bool {
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
func (c *pass) localFeature(id string) *jsonc.Node {
	if c.Tree == nil {
		return nil
	}
	full, ok := c.Path(path.Join(id, FeatureName))
	if !ok {
		return nil
	}
	src, err := c.Tree.Read(full)
	if err != nil {
		return nil
	}
	doc, _ := jsonc.Parse(full, src)
	if doc == nil || doc.Root.Kind != jsonc.Object {
		return nil
	}
	return doc.Root
}

// featureContract holds a dev container with the firewall Feature to what the
// Feature needs. It brings its ENTRYPOINT and rights along; who the agent is and
// what is mounted it cannot say.
func (c *pass) featureContract(feature jsonc.Member) {
	c.featureUsers(feature)
	c.privilegesBack()
	c.gateSkipped()
	c.firewallCovered()
	c.networkParameters()
	c.featurePolicy(feature)
	c.writable()
}

// featureUsers: the first process is root's, who raises the firewall, and the
// agent is somebody else, who cannot take it away.
func (c *pass) featureUsers(feature jsonc.Member) {
	const start, startHint = "the container starts as %s, who cannot raise the firewall, and ends", `name the agent's user in "remoteUser" and leave the first process to root`
	first, known := c.root.Member("containerUser").Str()
	if known && !isRoot(first) {
		c.at(c.root.Member("containerUser"), "SBX821", fmt.Sprintf(start, first), startHint)
	}
	for _, a := range c.args {
		if a.flag == "user" && !isRoot(a.value) {
			c.at(a.node, "SBX821", fmt.Sprintf(start, a.value), startHint)
			known = true
		}
	}
	if s := c.composed.dev(); s != nil && !known {
		if n := s.Get("user"); n.String() != "" && !isRoot(n.String()) && !strings.Contains(n.String(), "$") {
			c.inCompose(n, "SBX821", fmt.Sprintf(start, n.String()), startHint)
			known = true
		}
	}
	if user, ok := c.build.user(); ok && !known && !isRoot(user) {
		last := c.build.final.Last("USER")
		c.inBuild(last.Start, last.HeadEnd, "SBX821", fmt.Sprintf(start, user), startHint+`, with "containerUser": "root"`)
	}

	const message, hint = "the agent would be root, who can change the firewall; the Feature's build refuses that", `set "remoteUser" to another user of the image`
	switch n := c.namedUser(); {
	case n != nil && isRoot(n.Text):
		c.at(n, "SBX805", message, hint)
	case n == nil && c.startsAsRoot():
		c.name(feature, "SBX805", message, hint)
	}
}

// startsAsRoot reports whether nothing but root can be the image's user: what
// Docker Hub's own images have. Others may name a user in a label.
func (c *pass) startsAsRoot() bool {
	image, _ := c.root.Member("image").Str()
	if s := c.composed.dev(); s != nil {
		if s.Get("user") != nil {
			return isRoot(s.Get("user").String())
		}
		image = s.Get("image").String()
	}
	if user, ok := c.build.user(); ok {
		return isRoot(user)
	}
	if c.build != nil && c.build.final != nil {
		image = c.build.final.Base().Image
	}
	return image != "" && !strings.Contains(image, "$") && strings.HasPrefix(registryName(image), "docker.io/library/")
}

// privilegesBack reports no-new-privileges that is switched off again.
func (c *pass) privilegesBack() {
	off := func(s string) bool {
		rest, ok := strings.CutPrefix(s, "no-new-privileges")
		return ok && rest != "" && !isOn(strings.TrimLeft(rest, ":="))
	}
	const message, hint = "a setuid program gives the agent the container's capabilities, NET_ADMIN among them", "leave it out; the Feature sets no-new-privileges"
	for _, n := range texts(c.root.Member("securityOpt")) {
		if off(n.Text) {
			c.at(n, "SBX805", message, hint)
		}
	}
	for _, a := range c.args {
		if a.flag == "security-opt" && off(a.value) {
			c.at(a.node, "SBX805", message, hint)
		}
	}
	if s := c.composed.dev(); s != nil {
		for _, n := range s.Get("security_opt").Scalars() {
			if off(n.Text) {
				c.inCompose(n, "SBX805", message, hint)
			}
		}
	}
}

// gateSkipped reports shells that do not wait for the firewall: the gate lies
// where login shells read it.
func (c *pass) gateSkipped() {
	n := c.root.Member("userEnvProbe")
	probe, _ := n.Str()
	login := map[string]string{"none": "loginShell", "interactiveShell": "loginInteractiveShell"}[probe]
	if login != "" {
		c.at(n, "SBX820", "lifecycle commands and tools do not wait for the firewall: no login shell comes before them", `set it to "`+login+`", or leave it out`).fix(jsonc.Replace(n, jsonc.Quote(login)))
	}
}

// firewallParts are what the firewall consists of in the container.
var firewallParts = []string{"/usr/local/sbin/sbx-init", "/usr/local/share/sbx", "/etc/sbx", "/run/sbx", "/etc/profile", "/etc/profile.d", "/etc/zsh/zshenv"}

// firewallCovered reports mounts that lie over those parts, or on the way there.
func (c *pass) firewallCovered() {
	judge := func(m mount, report func(rule, message, hint string)) {
		target := path.Clean("/" + strings.TrimLeft(m.target, "/"))
		if m.target == "" || strings.Contains(m.target, "${") || m.kind == "tmpfs" && strings.HasPrefix(target, "/run") {
			return // /run is empty at each start anyway
		}
		for _, part := range firewallParts {
			if target == part || strings.HasPrefix(part, target+"/") || strings.HasPrefix(target, part+"/") {
				report("SBX819", fmt.Sprintf("the mount at %s lies over %s, which belongs to the firewall", m.target, part), "mount it elsewhere")
				return
			}
		}
	}
	for _, m := range c.mounts {
		judge(m, func(rule, message, hint string) { c.at(m.node, rule, message, hint) })
	}
	for _, a := range c.args {
		if a.flag == "tmpfs" {
			target, _, _ := strings.Cut(a.value, ":")
			judge(mount{kind: "tmpfs", target: target}, func(rule, message, hint string) { c.at(a.node, rule, message, hint) })
		}
	}
	dev := c.composed.dev()
	if dev == nil {
		return
	}
	for _, m := range c.composed.mountsOf(dev) {
		judge(m.mount, func(rule, message, hint string) { c.inCompose(m.at, rule, message, hint) })
	}
	for _, key := range []string{"configs", "secrets"} {
		if list := dev.Get(key); list != nil {
			for _, item := range list.Items {
				if n := item.Get("target"); path.IsAbs(n.String()) {
					judge(mount{kind: "bind", target: n.String()}, func(rule, message, hint string) { c.inCompose(n, rule, message, hint) })
				}
			}
		}
	}
	for _, n := range dev.Get("tmpfs").Scalars() {
		target, _, _ := strings.Cut(n.Text, ":")
		judge(mount{kind: "tmpfs", target: target}, func(rule, message, hint string) { c.inCompose(n, rule, message, hint) })
	}
}

// openingParameters are parameters of the kernel's network that let packets go
// where the firewall's rules do not expect them, and the value that does no harm
// ("" for none).
var openingParameters = []struct{ pattern, harmless string }{
	{"net.ipv4.ip_forward", "0"}, {"net.ipv4.conf.*.forwarding", "0"}, {"net.ipv6.conf.*.forwarding", "0"}, {"net.ipv4.conf.*.mc_forwarding", "0"},
	{"net.ipv4.conf.*.route_localnet", "0"}, {"net.ipv4.conf.*.accept_local", "0"},
	{"net.ipv4.conf.*.accept_source_route", "0"}, {"net.ipv6.conf.*.accept_source_route", "0"}, {"net.ipv6.conf.*.seg6_enabled", "0"},
	{"net.ipv4.conf.*.accept_redirects", "0"}, {"net.ipv6.conf.*.accept_redirects", "0"},
	{"net.ipv4.ip_nonlocal_bind", "0"}, {"net.ipv6.ip_nonlocal_bind", "0"},
	{"net.ipv4.ip_local_port_range", ""}, {"net.netfilter.*", ""},
}

// networkParameters reports those that the configuration sets.
func (c *pass) networkParameters() {
	judge := func(name, value string, report func(rule, message, hint string)) {
		name, value = strings.ReplaceAll(strings.TrimSpace(name), "/", "."), strings.TrimSpace(value)
		for _, p := range openingParameters {
			if ok, _ := path.Match(p.pattern, name); ok && (p.harmless == "" || value != p.harmless) {
				report("SBX818", fmt.Sprintf("%s=%s changes the network below the firewall", name, value), "leave it at the kernel's default")
				return
			}
		}
	}
	for _, a := range c.args {
		if a.flag == "sysctl" {
			name, value, _ := strings.Cut(a.value, "=")
			judge(name, value, func(rule, message, hint string) { c.at(a.node, rule, message, hint) })
		}
	}
	dev := c.composed.dev()
	if dev == nil {
		return
	}
	owner, _ := c.networkOwner(dev)
	for _, s := range []*compose.Service{dev, owner} {
		if s == nil {
			continue
		}
		for _, v := range s.Get("sysctls").Variables() {
			judge(v.Name, v.Value, func(rule, message, hint string) { c.inCompose(v.Node, rule, message, hint) })
		}
	}
}
