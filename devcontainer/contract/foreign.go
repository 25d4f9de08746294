package contract

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/firewall"
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
	// Compose is what has to be added to the dev container's service; nil without
	// Compose, and when nothing is missing.
	Compose *ServiceLines
}

// ServiceLines are lines for a service of a Compose file.
type ServiceLines struct {
	File, Service string
	User          string   // the user to set; "" = it is right
	Volumes       []string // in Compose's short form, paths relative to the first Compose file
	// Workspace is where the container has the project; "" = not known. Covered are paths below
	// it, over which the lines put something empty that is read-only.
	Workspace string
	Covered   []string
	// Alone reports that Volumes mount the project at Workspace, in place of the folder around it.
	Alone bool
	// Folder is the name of the project's folder, where Volumes hold it: in a folder of
	// another name they protect nothing. "" = they do not.
	Folder  string
	version string // of the form of the first Compose file, as old versions of Compose want it in all; "" = it names none
}

// Inspect looks at a dev container that init did not write. It is pure.
func Inspect(p *devcontainer.Project) Foreign {
	v := rule.NewView(p)
	if v.Root == nil {
		return Foreign{}
	}
	start, _ := v.StartUser()
	return Foreign{StartUser: start.Value, Claude: installsClaude(v), Login: keepsLogin(v), Compose: serviceLines(v)}
}

// installsClaude reports whether Claude Code will be in the container. An
// extension of an editor is not enough: claude is not on its terminal's PATH.
func installsClaude(c *rule.View) bool {
	installs := func(s string) bool {
		return strings.Contains(s, "@anthropic-ai/claude-code") || strings.Contains(s, "claude.ai/install")
	}
	found := installs(c.DockerfileText())
	if features := c.Root.Member("features"); features != nil {
		found = found || slices.ContainsFunc(features.Members, func(m jsonc.Member) bool {
			id, _, _ := rights.SplitImage(m.Name)
			return strings.Contains(path.Base(id), "claude")
		})
	}
	c.EachHookText(func(text string) { found = found || installs(text) })
	return found
}

// keepsLogin reports a mount over Claude Code's folder, which our Feature brings as well.
func keepsLogin(c *rule.View) bool {
	ours := func(m jsonc.Member) bool {
		id, _, _ := rights.SplitImage(m.Name)
		return path.Base(id) == "claude"
	}
	return slices.ContainsFunc(c.Root.Member("features").Fields(), ours) || slices.ContainsFunc(append(c.Mounts(), c.ServiceMounts()...),
		func(r rights.Right) bool { return path.Base(r.Mount.Target) == ".claude" })
}

// serviceLines returns what the dev container's service lacks.
func serviceLines(c *rule.View) *ServiceLines {
	dev := c.Composed.Dev()
	if dev == nil {
		return nil
	}
	lines := ServiceLines{File: nameOf(dev).Doc.File, Service: dev.Name, version: c.Composed.Project.Root.Get("version").String()}
	if user, known := c.StartUser(); known && !rule.IsRoot(user.Value) && user.Notation != rights.Property {
		lines.User = "root"
	}
	if e, ok := exposed(c); ok && e.volume != nil {
		if from, to, ok := workspaceIn(c, e.volume); ok { // nothing where the place of the workspace in the container is not known
			lines.Workspace = to
			if lines.Alone = !c.GitAbove() && to != e.volume.Mount.Target; lines.Alone {
				// The volume has the folder around the project: an empty one comes in its place.
				lines.Volumes = append(lines.Volumes, e.volume.Mount.Target, fromHere(from)+":"+to)
			}
			lines.Volumes = append(lines.Volumes, volumesOver(from, to, e.toCover())...)
			if c.HomeName != "" && path.Base(to) == c.HomeName && !lines.Alone {
				lines.Folder = c.HomeName
			}
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
		line := fromHere(path.Join(from, name)) + ":" + path.Join(to, name)
		if readonly {
			line += ":" + mode
		}
		out = append(out, line)
	}
	return out
}

// fromHere writes a relative path so that Compose does not take it for a volume's name.
func fromHere(p string) string {
	if p == "." || p == ".." || strings.HasPrefix(p, "../") {
		return p
	}
	return "./" + p
}

// workspaceIn returns the project's folder relative to the first Compose file,
// and where the container has it by a volume of the project's folder or of one
// above.
func workspaceIn(c *rule.View, volume *rights.Right) (from, to string, ok bool) {
	base := path.Join(c.Dir, path.Dir(c.Composed.First))
	from = relative(base, c.Home)
	source := path.Join(base, volume.Mount.Source)
	if source == path.Clean(c.Home) {
		return from, volume.Mount.Target, volume.Mount.Target != "" && !strings.Contains(volume.Mount.Target, "$")
	}
	folder, _ := c.Root.Member("workspaceFolder").Str()
	if c.HomeName != "" {
		folder = strings.ReplaceAll(folder, "${localWorkspaceFolderBasename}", c.HomeName)
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

// FirewallPolicy is View.FeaturePolicy of a project.
func FirewallPolicy(p *devcontainer.Project) (*firewall.Policy, []firewall.EntryError) {
	return rule.NewView(p).FeaturePolicy()
}

// Overlay writes a Compose file that lays the lines over the service's own.
func (l ServiceLines) Overlay() []byte {
	var b strings.Builder
	b.WriteString("# 'sbx-devc init --extend' wrote this. What acts on the host later is not the agent's to\n" +
		"# change. Paths on the left are relative to the folder of the first Compose file.\n")
	if l.version != "" {
		fmt.Fprintf(&b, "version: %s\n", jsonc.Quote(l.version))
	}
	fmt.Fprintf(&b, "services:\n  %s:\n%s", jsonc.Quote(l.Service), l)
	return []byte(b.String())
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
	if len(l.Covered) > 0 {
		b.WriteString("    tmpfs:\n")
	}
	for _, p := range l.Covered {
		fmt.Fprintf(&b, "      - %s\n", jsonc.Quote(path.Join(l.Workspace, p)+":ro"))
	}
	return b.String()
}
