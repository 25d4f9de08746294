package contract

import (
	"fmt"
	"path"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// firstProcess reports a container with our own firewall whose first process is not
// root's, who raises the firewall.
func firstProcess(v *rule.View) []rule.Finding {
	if !ours(v) {
		return nil
	}
	user, known := v.StartUser()
	if !known || rule.IsRoot(user.Value) {
		return nil
	}
	if _, byFeature := v.FirewallFeature(); !byFeature && !startsInit(v, user.Notation) {
		return nil
	}
	hint := `name the agent's user in "remoteUser" and leave the first process to root`
	if user.Notation == rights.Dockerfile {
		hint += `, with "containerUser": "root"`
	}
	return []rule.Finding{rule.AtRight(user, fmt.Sprintf("the container starts as %s, who cannot raise the firewall, and ends",
		user.Value), hint)}
}

// startsInit reports whether the container starts with sbx-init: by the Dockerfile's ENTRYPOINT,
// or by the image's, which a Dockerfile that names a user may not have left in place.
func startsInit(v *rule.View, user rights.Notation) bool {
	if _, hooked := firewallHook(v); hooked || !v.Root.Member("overrideCommand").Is(false) {
		return false
	}
	entrypoint, _ := v.Start()
	if entrypoint.Words == nil {
		return user != rights.Dockerfile
	}
	return path.Base(entrypoint.Words[0]) == "sbx-init"
}

// featureUsers reports an agent that is root, who can take the firewall away.
func featureUsers(c *rule.View, feature jsonc.Member) []rule.Finding {
	const message = "the agent would be root, who can change the firewall; the Feature's build refuses that"
	hint := `set "remoteUser" to another user of the image` + userOf(c)
	user, known := c.SessionUser()
	switch n := c.NamedUser(); {
	case n != nil && rule.IsRoot(n.Text):
		return []rule.Finding{c.AtValue(n, message, hint)}
	case known && rule.IsRoot(user), n == nil && startsAsRoot(c):
		return []rule.Finding{c.AtName(feature, message, hint)}
	}
	return nil
}

// startsAsRoot reports whether nothing but root can be the image's user: what
// Docker Hub's own images have. Others may name a user in a label.
func startsAsRoot(c *rule.View) bool {
	if user, known := c.StartUser(); known {
		return rule.IsRoot(user.Value)
	}
	return strings.HasPrefix(rights.RegistryName(c.BaseImage()), officialImages)
}

const officialImages = "docker.io/library/"

// userOf goes on with the hint to name a user: where Docker Hub's own images have one, and
// where not, how to make it.
func userOf(c *rule.View) string {
	image := c.BaseImage()
	official, ok := strings.CutPrefix(rights.RegistryName(image), officialImages)
	add := "RUN useradd --create-home --uid 1000 dev"
	if strings.Contains(image, "alpine") {
		add = "RUN adduser -D -u 1000 dev"
	}
	switch {
	case !ok:
		return ""
	case official == "node":
		return `: node has the user "node"`
	case c.Build != nil:
		return fmt.Sprintf(`; %s has none: add "%s" to the Dockerfile, and "remoteUser": "dev"`, image, add)
	case c.Composed.Dev() != nil:
		return ""
	}
	return fmt.Sprintf(`; %s has none: write "FROM %s" and "%s" into .devcontainer/Dockerfile, `+
		`and "build": {"dockerfile": "Dockerfile"}, "remoteUser": "dev" in place of "image"`, image, image, add)
}

// privilegesBack reports no-new-privileges that is switched off again.
func privilegesBack(c *rule.View) (out []rule.Finding) {
	for _, r := range c.Of(rights.SecurityOpt) {
		rest, ok := strings.CutPrefix(r.Value, "no-new-privileges")
		if !ok || rest == "" || rights.IsOn(strings.TrimLeft(rest, ":=")) || !r.Own() {
			continue
		}
		out = append(out, rule.AtRight(r, "a setuid program gives the agent the container's capabilities, NET_ADMIN among them",
			"leave it out; the Feature sets no-new-privileges"))
	}
	return out
}

// ours reports whether the firewall is our own, in the container of the agent:
// by the Feature, or in an image with sbx-init.
func ours(c *rule.View) bool {
	if !c.Sandboxed() {
		return false
	}
	_, feature := c.FirewallFeature()
	return feature || c.Root.Member("dockerComposeFile") == nil && (c.Settings != nil || strings.Contains(c.DockerfileText(), "sbx-init"))
}

// gateSkipped reports shells that do not wait for the firewall: the gate lies
// where login shells read it.
func gateSkipped(v *rule.View) []rule.Finding {
	n := v.Root.Member("userEnvProbe")
	probe, _ := n.Str()
	login := map[string]string{"none": "loginShell", "interactiveShell": "loginInteractiveShell"}[probe]
	if login == "" || !ours(v) {
		return nil
	}
	f := v.AtValue(n, "lifecycle commands and tools do not wait for the firewall: no login shell comes before them",
		`set it to "`+login+`", or leave it out`)
	f.Edits = jsonc.Replace(n, jsonc.Quote(login))
	return []rule.Finding{f}
}

// firewallParts are what the firewall consists of in the container.
var firewallParts = []string{"/usr/local/sbin/sbx-init", "/usr/local/share/sbx", "/etc/sbx", "/run/sbx", "/etc/profile", "/etc/profile.d",
	"/etc/zsh/zshenv"}

// firewallCovered reports mounts that lie over those parts, or on the way there.
func firewallCovered(v *rule.View) (out []rule.Finding) {
	if !ours(v) {
		return nil
	}
	for _, r := range v.Of(rights.Mounted, rights.Granted) {
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
			f := v.PolicyFinding(r, message, hint)
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
func networkParameters(v *rule.View) (out []rule.Finding) {
	if !v.Sandboxed() {
		return nil
	}
	var owner *compose.Service
	if dev := v.Composed.Dev(); dev != nil {
		owner, _ = networkOwner(v, dev)
	}
	for _, r := range v.Of(rights.Sysctl) {
		if r.Next && (owner == nil || owner.Name != r.Service.Name) {
			continue
		}
		for _, p := range openingParameters {
			if ok, _ := path.Match(p.pattern, r.Name); ok && (p.harmless == "" || r.Value != p.harmless) {
				out = append(out, rule.AtRight(r, fmt.Sprintf("%s=%s changes the network below the firewall", r.Name, r.Value),
					"leave it at the kernel's default"))
				break
			}
		}
	}
	return out
}
