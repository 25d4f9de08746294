package devcontainer

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/budget"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// composed is what the configuration's Compose files say together.
type composed struct {
	project *compose.Project
	service *compose.Service // the one that becomes the dev container; nil when it is not there
	first   string           // first file as the configuration names it; paths start in its folder
	mounts  *budget.Budget   // how many more mounts volumes_from may bring
}

// maxMounts bounds the mounts that volumes_from brings, all services together:
// services that take over from several others that do the same multiply them.
const maxMounts = 20_000

// incomplete says why not all mounts were looked at, or "".
func (c *composed) incomplete() string {
	if c.mounts.Spent() {
		return fmt.Sprintf("volumes_from brings more than %d mounts", maxMounts)
	}
	return ""
}

// readCompose reads the project's Compose files; nil when it has none.
func readCompose(p *Project) *composed {
	if len(p.Compose) == 0 || p.object() == nil {
		return nil
	}
	c := &composed{project: p.ComposeWith(nil), mounts: budget.New(maxMounts)}
	for _, n := range texts(p.object().Member("dockerComposeFile")) {
		if name, ok := p.Path(n.Text); ok && p.Tree.Kind(name) == File {
			c.first = filepath.ToSlash(n.Text)
			break
		}
	}
	if name, ok := p.object().Member("service").Str(); ok {
		c.service = c.project.Service(name)
	}
	return c
}

// ComposeWith reads the project's Compose files, later ones over earlier ones,
// with the variables of a host; see compose.Load for nil. Nil when there are no
// files.
func (p *Project) ComposeWith(env map[string]string) *compose.Project {
	if len(p.Compose) == 0 {
		return nil
	}
	var names []string
	for _, n := range texts(p.object().Member("dockerComposeFile")) {
		if name, ok := p.Path(n.Text); ok && p.Tree.Kind(name) == File {
			names = append(names, name)
		}
	}
	return compose.Load(p.Compose, names, func(name string) (*jsonc.Document, error) {
		doc, err := p.Document(name)
		if err == nil && path.Base(name) != ".env" {
			p.also(doc)
		}
		return doc, err
	}, env)
}

// Document reads a file of the tree as text, named as findings quote it.
func (p *Project) Document(name string) (*jsonc.Document, error) {
	if p.Tree == nil || leavesTree(name) {
		return nil, fmt.Errorf("%s lies outside the project", name)
	}
	src, err := p.Tree.Read(name)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(filepath.FromSlash(p.Dir), filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	return jsonc.Text(p.quoted(rel), src), nil
}

// dev returns the service that becomes the dev container, or nil.
func (c *composed) dev() *compose.Service {
	if c == nil {
		return nil
	}
	return c.service
}

// volumesOf returns the volumes of a service.
func volumesOf(s *compose.Service) []*compose.Node {
	n := s.Get("volumes")
	if n == nil {
		return nil
	}
	return n.Items
}

// placed is a mount of a service and where the file says so.
type placed struct {
	mount
	at *compose.Node
}

// mountsOf returns what a service mounts: its own volumes, then those that
// volumes_from takes over from other services.
func (c *composed) mountsOf(s *compose.Service) []placed { return c.mountsBelow(s, 0) }

func (c *composed) mountsBelow(s *compose.Service, depth int) []placed {
	var out []placed
	for _, n := range volumesOf(s) {
		out = append(out, placed{composeVolume(n), n})
	}
	const enough = 10 // a longer chain is a circle
	for _, n := range s.Get("volumes_from").Scalars() {
		name, mode, _ := strings.Cut(n.Text, ":")
		other := c.project.Service(name)
		if name == "container" || other == nil || depth == enough || !c.mounts.Spend(1) {
			continue
		}
		for _, m := range c.mountsBelow(other, depth+1) {
			if !c.mounts.Spend(1) {
				break
			}
			if !slices.ContainsFunc(out, func(have placed) bool { return path.Clean(have.target) == path.Clean(m.target) }) {
				m.readonly, m.at = m.readonly || mode == "ro", n
				out = append(out, m)
			}
		}
	}
	return out
}

// composeVolume reads a volume in its short or long form.
func composeVolume(n *compose.Node) mount {
	if n.Kind == compose.Map {
		m := mount{kind: "volume", source: n.Get("source").String(), target: n.Get("target").String(), readonly: n.Get("read_only").True()}
		if t := n.Get("type").String(); t != "" {
			m.kind = strings.ToLower(t)
		}
		return m
	}
	return parseVolume(n.Text, nil)
}

// volume reads a volume of a service. A named one whose device is a path of the
// host is a bind mount by another name.
func (c *composed) volume(n *compose.Node) mount {
	m := composeVolume(n)
	if m.kind != "volume" || m.source == "" || c.project.Root == nil {
		return m
	}
	if device := c.project.Root.Get("volumes").Get(m.source).Get("driver_opts").Get("device").String(); hostDevice(device) {
		m.kind, m.source = "bind", device
	}
	return m
}

// dockerfile returns the name, relative to the configuration, of the Dockerfile
// that the dev container's service builds.
func (c *composed) dockerfile() (name string, ok bool) {
	s := c.dev()
	if s == nil {
		return "", false
	}
	context, file, _, ok := s.Build()
	if !ok || strings.Contains(context+file, "$") || path.IsAbs(context) || path.IsAbs(file) || strings.Contains(context, "://") {
		return "", false
	}
	return path.Join(path.Dir(c.first), context, file), true
}
