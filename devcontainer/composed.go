package devcontainer

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Composed is what the configuration's Compose files say together.
type Composed struct {
	Project *compose.Project
	Service *compose.Service // the one that becomes the dev container; nil when it is not there
	First   string           // first file as the configuration names it; paths start in its folder
	Files   []string         // names in the tree of all that it says so by, also what they include and .env; in the order of reading
}

// readCompose reads the project's Compose files; nil when it has none.
func readCompose(p *Project) *Composed {
	if len(p.Compose) == 0 || p.Object() == nil {
		return nil
	}
	c := &Composed{}
	c.Project, c.Files = p.composeWith(p.unset.env())
	for _, n := range rights.Texts(p.Object().Member("dockerComposeFile")) {
		if name, ok := p.Path(n.Text); ok && p.Tree.Kind(name) == File {
			c.First = filepath.ToSlash(n.Text)
			break
		}
	}
	if name, ok := p.Object().Member("service").Str(); ok {
		c.Service = c.Project.Service(name)
	}
	return c
}

// ComposeWith reads the project's Compose files, later ones over earlier ones,
// with the variables of a host; see compose.Load for nil. Nil when there are no
// files.
func (p *Project) ComposeWith(env map[string]string) *compose.Project {
	project, _ := p.composeWith(env)
	return project
}

// composeWith returns the names of the files that it read as well.
func (p *Project) composeWith(env map[string]string) (project *compose.Project, files []string) {
	if len(p.Compose) == 0 {
		return nil, nil
	}
	var names []string
	for _, n := range rights.Texts(p.Object().Member("dockerComposeFile")) {
		if name, ok := p.Path(n.Text); ok && p.Tree.Kind(name) == File {
			names = append(names, name)
		}
	}
	files = slices.Clone(names)
	project = compose.Load(p.Compose, names, func(name string) (*jsonc.Document, error) {
		doc, err := p.Document(name)
		if err == nil {
			files = append(files, path.Clean(name))
		}
		if err == nil && path.Base(name) != ".env" {
			p.Also(doc)
		}
		return doc, err
	}, env)
	return project, files
}

// Document reads a file of the tree as text, named as findings quote it.
func (p *Project) Document(name string) (*jsonc.Document, error) {
	if p.Tree == nil || LeavesTree(name) {
		return nil, fmt.Errorf("%s: %w", name, compose.ErrOutside)
	}
	src, err := p.Tree.Read(name)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(filepath.FromSlash(p.Dir), filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	return jsonc.Text(p.Quoted(rel), src), nil
}

// Dev returns the service that becomes the dev container, or nil.
func (c *Composed) Dev() *compose.Service {
	if c == nil {
		return nil
	}
	return c.Service
}

// dockerfile returns the name, relative to the configuration, of the Dockerfile
// that the dev container's service builds.
func (c *Composed) dockerfile() (name string, ok bool) {
	s := c.Dev()
	if s == nil {
		return "", false
	}
	context, file, _, ok := s.Build()
	if !ok || strings.Contains(context+file, "$") || path.IsAbs(context) || path.IsAbs(file) || strings.Contains(context, "://") {
		return "", false
	}
	return path.Join(path.Dir(c.First), context, file), true
}
