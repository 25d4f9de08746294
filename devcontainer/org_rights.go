package devcontainer

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// rights are what a Feature's metadata adds to the configuration, as far as it
// is known here: that of a Feature in the repository, and of a few well-known
// ones.
type rights struct {
	member       jsonc.Member // among the configuration's features
	id           string       // by its own metadata; "" when that is not known
	capabilities []string     // "ALL" for a privileged container
	mounts       []mount
	extensions   []*jsonc.Node
	depends      []string
	properties   []string // names that it has in devcontainer.json
}

func (c *pass) featureRights() []rights {
	features := c.root.Member("features")
	if features == nil {
		return nil
	}
	var out []rights
	for _, m := range features.Members {
		r := rights{member: m}
		switch id := featureID(m.Name); {
		case sourceOf(m.Name) == localFeature:
			r.read(c.localFeature(m.Name))
		case c.raisesFirewall(m.Name):
			r.capabilities, r.properties = []string{"NET_ADMIN"}, []string{"capAdd", "securityOpt"}
		case knownRights[id] == "a privileged container":
			r.capabilities, r.properties = []string{"ALL"}, []string{"privileged"}
		case knownRights[id] != "":
			r.mounts, r.properties = []mount{{kind: "bind", source: "/var/run/docker.sock"}}, []string{"mounts"}
		}
		out = append(out, r)
	}
	return out
}

func (r *rights) read(meta *jsonc.Node) {
	if meta == nil {
		return
	}
	r.id, _ = meta.Member("id").Str()
	if truthy(meta.Member("privileged")) {
		r.capabilities = append(r.capabilities, "ALL")
	}
	for _, n := range texts(meta.Member("capAdd")) {
		r.capabilities = append(r.capabilities, n.Text)
	}
	for _, n := range elements(meta.Member("mounts")) {
		if m, ok := mountOf(n); ok {
			r.mounts = append(r.mounts, m)
		}
	}
	r.extensions = extensionsOf(meta)
	if d := meta.Member("dependsOn"); d != nil {
		for _, m := range d.Members {
			r.depends = append(r.depends, m.Name)
		}
	}
	for _, m := range meta.Members {
		if m.Value.Kind != jsonc.Null && !m.Value.Is(false) {
			r.properties = append(r.properties, m.Name)
		}
	}
}

// featureID is the last part of a Feature's name, however it is written.
func featureID(name string) string {
	if sourceOf(name) == tarballFeature {
		id, _, _ := strings.Cut(path.Base(name), "?")
		return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(id, "devcontainer-feature-"), ".tgz"))
	}
	name, _, _ = splitImage(name)
	return strings.ToLower(path.Base(name))
}

// featurePlace is where a Feature comes from, in the form of an entry of
// registries; "" for one of the repository.
func featurePlace(name string) string {
	switch sourceOf(name) {
	case registryFeature:
		return registryName(name)
	case tarballFeature:
		_, rest, _ := strings.Cut(name, "://")
		return strings.ToLower(rest)
	case legacyFeature:
		name, _, _ := splitImage(name)
		if !strings.Contains(name, "/") {
			return "ghcr.io/devcontainers/features/" + strings.ToLower(name) // where the reference CLI looks
		}
		return "github.com/" + strings.ToLower(name) // a release
	}
	return ""
}

func (c *pass) orgFeatures() {
	matches := func(name, id string) func(string) bool {
		full, _, _ := splitImage(name)
		return func(entry string) bool {
			return registryMatch(entry, strings.ToLower(full)) || strings.EqualFold(entry, featureID(name)) || id != "" && strings.EqualFold(entry, id)
		}
	}
	have := c.featureRights()
	for _, f := range have {
		for _, name := range append([]string{f.member.Name}, f.depends...) {
			what, id := "the Feature "+name, f.id
			if name != f.member.Name {
				what, id = fmt.Sprintf("the Feature %s, which %s depends on", name, f.member.Name), ""
			}
			if place := featurePlace(name); place != "" {
				if why, where := c.Org.judge("registries", func(e string) bool { return registryMatch(e, place) }); why != "" {
					c.name(f.member, "SBX606", what+": "+why, where)
				}
			}
			if why, where := c.Org.judge("features", matches(name, id)); why != "" {
				c.name(f.member, "SBX611", what+": "+why, where)
			}
		}
	}
	for _, n := range c.Org.entries("features", "require") {
		if !slices.ContainsFunc(have, func(f rights) bool { return matches(f.member.Name, "")(n.Text) }) {
			c.missing(c.root.Member("features"), "SBX611", fmt.Sprintf("the policy requires the Feature %s", n.Text), c.Org.at(n)+" requires it")
		}
	}
}

func (c *pass) orgCapabilities() {
	judge := func(what, name string, report reporter) {
		name = capabilityName(name)
		if why, where := c.Org.judge("capabilities", func(e string) bool { return capabilityName(e) == name }); why != "" {
			report(what+": "+why, where)
			return
		}
		if name != "ALL" {
			return
		}
		// All of them hold each one that is forbidden.
		for _, n := range c.Org.entries("capabilities", "forbid") {
			report(fmt.Sprintf("%s, %s among them: the policy forbids it", what, capabilityName(n.Text)), c.Org.at(n)+" forbids it")
			return
		}
	}
	const all = "a privileged container has all capabilities"
	named := func(name string) string { return "the capability " + capabilityName(name) }
	at := func(n *jsonc.Node) reporter { return func(m, h string) { c.at(n, "SBX414", m, h) } }
	for _, n := range texts(c.root.Member("capAdd")) {
		judge(named(n.Text), n.Text, at(n))
	}
	if n := c.root.Member("privileged"); truthy(n) {
		judge(all, "ALL", at(n))
	}
	for _, a := range c.args {
		switch {
		case a.flag == "cap-add":
			judge(named(a.value), a.value, at(a.node))
		case a.flag == "privileged" && isOn(a.value):
			judge(all, "ALL", at(a.node))
		}
	}
	for _, s := range c.services() {
		for _, n := range s.Get("cap_add").Scalars() {
			judge(named(n.Text), n.Text, func(m, h string) { c.inCompose(n, "SBX414", m, h) })
		}
		if n := s.Get("privileged"); n.True() {
			judge(all, "ALL", func(m, h string) { c.inCompose(n, "SBX414", m, h) })
		}
	}
	for _, f := range c.featureRights() {
		for _, name := range f.capabilities {
			what := named(name)
			if name == "ALL" {
				what = all
			}
			judge(fmt.Sprintf("by the Feature %s, %s", f.member.Name, what), name, func(m, h string) { c.name(f.member, "SBX414", m, h) })
		}
	}
}

// extensionsOf returns the extensions that a configuration or a Feature's
// metadata names: for any tool, and where they stood before customizations.
func extensionsOf(n *jsonc.Node) []*jsonc.Node {
	out := texts(n.Member("extensions"))
	if custom := n.Member("customizations"); custom != nil {
		for _, m := range custom.Members {
			out = append(out, texts(m.Value.Member("extensions"))...)
		}
	}
	return out
}

func (c *pass) orgExtensions() {
	matches := func(id string) func(string) bool {
		id, _, _ = strings.Cut(strings.ToLower(id), "@")
		return func(entry string) bool {
			ok, err := path.Match(strings.ToLower(entry), id)
			return err == nil && ok
		}
	}
	judge := func(id string, report reporter) {
		if strings.HasPrefix(id, "-") {
			return // takes one out that an image or a Feature brings
		}
		if why, where := c.Org.judge("extensions", matches(id)); why != "" {
			report(fmt.Sprintf("the extension %s: %s", id, why), where)
		}
	}
	own := extensionsOf(c.root)
	for _, n := range own {
		judge(n.Text, func(m, h string) { c.at(n, "SBX607", m, h) })
	}
	for _, f := range c.featureRights() {
		for _, n := range f.extensions {
			judge(n.Text, func(m, h string) {
				c.name(f.member, "SBX607", fmt.Sprintf("by the Feature %s, %s", f.member.Name, m), h)
			})
		}
	}
	for _, n := range c.Org.entries("extensions", "require") {
		found, removed := false, false
		for _, e := range own {
			id, minus := strings.CutPrefix(e.Text, "-")
			hit := matches(n.Text)(id) || matches(id)(n.Text)
			found, removed = found || hit && !minus, removed || hit && minus
		}
		if !found || removed {
			c.missing(c.root.Member("customizations").Member("vscode").Member("extensions"), "SBX607", fmt.Sprintf("the policy requires the extension %s", n.Text), c.Org.at(n)+" requires it")
		}
	}
}
