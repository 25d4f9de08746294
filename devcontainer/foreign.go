package devcontainer

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Foreign is what must be known of somebody's dev container before the firewall
// Feature goes into it.
type Foreign struct {
	// StartUser is the user of the container's first process, as far as the files
	// say; "" when the image says it.
	StartUser string
	// Claude reports that the files install Claude Code, and Login that a mount
	// keeps its login over a rebuild.
	Claude, Login bool
	// Breaks lists what gives the agent the host, and so cannot go together with
	// a firewall, whatever a comment excuses.
	Breaks []diag.Finding
	// Compose is what has to be added to the dev container's service; nil without
	// Compose, and when nothing is missing.
	Compose *ServiceLines
}

// ServiceLines are lines for a service of a Compose file.
type ServiceLines struct {
	File, Service string
	User          string   // the user to set; "" = it is right
	Volumes       []string // in Compose's short form, paths relative to the first Compose file
}

// Inspect looks at a dev container that init did not write. It is pure.
func Inspect(p *Project) Foreign {
	v := newView(p)
	if v.root == nil {
		return Foreign{}
	}
	f := Foreign{StartUser: v.startUser(), Claude: v.installsClaude(), Login: v.keepsLogin(), Compose: v.serviceLines()}
	c := newPass(v, table())
	for _, id := range []string{"SBX401", "SBX402", "SBX412"} {
		c.apply(c.table[id])
	}
	for _, r := range c.reports {
		f.Breaks = append(f.Breaks, r.Finding)
	}
	diag.Sort(f.Breaks)
	return f
}

// startUser returns the user of the first process, or "".
func (c *view) startUser() string {
	if s, ok := c.root.Member("containerUser").Str(); ok {
		return s
	}
	if s := c.Composed.dev(); s != nil && s.Get("user").String() != "" {
		return s.Get("user").String()
	}
	user, _ := c.Build.user()
	return user
}

// installsClaude reports whether Claude Code will be in the container. An
// extension of an editor is not enough: claude is not on its terminal's PATH.
func (c *view) installsClaude() bool {
	installs := func(s string) bool {
		return strings.Contains(s, "@anthropic-ai/claude-code") || strings.Contains(s, "claude.ai/install")
	}
	found := installs(c.dockerfileText())
	if features := c.root.Member("features"); features != nil {
		found = found || slices.ContainsFunc(features.Members, func(m jsonc.Member) bool {
			id, _, _ := splitImage(m.Name)
			return strings.Contains(path.Base(id), "claude")
		})
	}
	for _, hook := range hooks {
		c.root.Member(hook).Walk(func(n *jsonc.Node) { found = found || n.Kind == jsonc.String && installs(n.Text) })
	}
	return found
}

// keepsLogin reports a mount over Claude Code's folder.
func (c *view) keepsLogin() bool {
	return slices.ContainsFunc(append(c.mounts(), c.serviceMounts()...), func(r rights.Right) bool { return path.Base(r.Mount.Target) == ".claude" })
}

// serviceLines returns what the dev container's service lacks.
func (c *view) serviceLines() *ServiceLines {
	dev := c.Composed.dev()
	if dev == nil {
		return nil
	}
	lines := ServiceLines{File: nameOf(dev).Doc.File, Service: dev.Name}
	if user := dev.Get("user").String(); user != "" && !isRoot(user) {
		lines.User = "root"
	} else if built, ok := c.Build.user(); ok && user == "" && !isRoot(built) {
		lines.User = "root"
	}
	if e, ok := c.exposed(); ok && e.volume != nil {
		if from, to, ok := c.workspaceIn(e.volume); ok { // nothing where the place of the workspace in the container is not known
			lines.Volumes = volumesOver(from, to, e.toCover())
		}
	}
	if lines.User == "" && len(lines.Volumes) == 0 {
		return nil
	}
	return &lines
}

// volumesOver writes volumes that lay paths of the folder from over the same
// ones of the folder to. A path is PATH or PATH:ro.
func volumesOver(from, to string, paths []string) []string {
	var out []string
	for _, p := range paths {
		name, mode, readonly := strings.Cut(p, ":")
		line := path.Join(from, name) + ":" + path.Join(to, name)
		if !strings.HasPrefix(line, "../") {
			line = "./" + line // without it Compose takes it for a volume's name
		}
		if readonly {
			line += ":" + mode
		}
		out = append(out, line)
	}
	return out
}

// workspaceIn returns the project's folder relative to the first Compose file,
// and where the container has it by a volume of the project's folder or of one
// above.
func (c *view) workspaceIn(volume *rights.Right) (from, to string, ok bool) {
	base := path.Join(c.Dir, path.Dir(c.Composed.first))
	from = relative(base, c.Home)
	source := path.Join(base, volume.Mount.Source)
	if source == path.Clean(c.Home) {
		return from, volume.Mount.Target, volume.Mount.Target != "" && !strings.Contains(volume.Mount.Target, "$")
	}
	folder, _ := c.root.Member("workspaceFolder").Str()
	if c.homeName != "" {
		folder = strings.ReplaceAll(folder, "${localWorkspaceFolderBasename}", c.homeName)
	}
	return from, folder, path.IsAbs(folder) && !strings.Contains(folder, "$")
}

// relative names to as seen from the folder from, both in the tree.
func relative(from, to string) string {
	up := ""
	for from = path.Clean(from); from != "." && from != to && !strings.HasPrefix(to, from+"/"); from = path.Dir(from) {
		up += "../"
	}
	rest := to
	if from != "." {
		rest = strings.TrimPrefix(strings.TrimPrefix(to, from), "/")
	}
	return path.Clean("./" + up + rest)
}

// Services names the services of the project's Compose files that are not its
// dev container, in their order; nothing without Compose.
func (p *Project) Services() []string {
	if p.Composed == nil {
		return nil
	}
	var out []string
	for _, s := range p.Composed.project.Services() {
		if p.Composed.service == nil || s.Name != p.Composed.service.Name {
			out = append(out, s.Name)
		}
	}
	return out
}

// FirewallNetwork returns the policy that the options of the firewall Feature
// in the configuration are; ok is false without that Feature, and where an
// option depends on a variable.
func FirewallNetwork(p *Project) (network firewall.Network, ok bool) {
	c := newView(p)
	feature, found := c.firewallFeature()
	if c.root == nil || !found {
		return network, false
	}
	return featureNetwork(feature)
}

// featureNetwork reads the options of the Feature, which are its policy.
func featureNetwork(feature jsonc.Member) (network firewall.Network, known bool) {
	known = true
	list := func(option, byDefault string) (out []string) {
		text, ok := feature.Value.Member(option).Str()
		if !ok {
			text = byDefault
		}
		known = known && !strings.Contains(text, "${")
		for entry := range strings.SplitSeq(text, ",") {
			if entry = strings.TrimSpace(entry); entry != "" {
				out = append(out, entry)
			}
		}
		return out
	}
	return firewall.Network{Mode: firewall.ModeAllowlist, Presets: list("presets", "anthropic,github,vscode"), Allow: list("allow", ""),
		Deny: list("deny", "gist.github.com"), Private: list("private", "")}, known
}

// String writes the lines as they stand in the service.
func (l ServiceLines) String() string {
	var b strings.Builder
	if l.User != "" {
		fmt.Fprintf(&b, "    user: %s\n", l.User)
	}
	if len(l.Volumes) > 0 {
		b.WriteString("    volumes:\n")
	}
	for _, v := range l.Volumes {
		fmt.Fprintf(&b, "      - %s\n", jsonc.Quote(v))
	}
	return b.String()
}
