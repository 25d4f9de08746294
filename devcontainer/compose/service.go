package compose

import (
	"strings"

	"github.com/org/claude-sandbox/internal/shellword"
)

// Service is one service of a project.
type Service struct {
	Name       string
	Start, End int // of its name, in Node.Doc
	*Node
}

// Service returns the service of that name, nil when there is none.
func (p *Project) Service(name string) *Service {
	p.list()
	return p.byName[name]
}

// Services returns all services in the order of the files.
func (p *Project) Services() []*Service {
	p.list()
	return p.services
}

// list collects the services of Root, once.
func (p *Project) list() {
	if p.of == p.Root && p.byName != nil {
		return
	}
	p.services, p.byName, p.of = nil, map[string]*Service{}, p.Root
	services := p.Root.Get("services")
	if services == nil {
		return
	}
	for _, m := range services.Members {
		if m.Value.Kind == Map || m.Value.Null {
			s := &Service{m.Name, m.Start, m.End, m.Value}
			p.services = append(p.services, s)
			p.byName[s.Name] = s
		}
	}
}

// EnvFileName is a file that a service takes variables from.
type EnvFileName struct {
	Name     string
	Required bool // whether Compose refuses to start without it
	Node     *Node
}

// EnvFiles reads env_file in its forms: a text, a list of those, or of maps.
func (s *Service) EnvFiles() []EnvFileName {
	n := s.Get("env_file")
	if n == nil {
		return nil
	}
	items := n.Items
	if n.Kind != List {
		items = []*Node{n}
	}
	var out []EnvFileName
	for _, item := range items {
		at := item
		if item.Kind == Map {
			at = item.Get("path")
		}
		if at.String() != "" {
			required := item.Get("required")
			out = append(out, EnvFileName{at.Text, required == nil || required.True(), at})
		}
	}
	return out
}

// Variable is one name and value of environment or build args.
type Variable struct {
	Name  string
	Value string
	Set   bool  // false: the value comes from the host
	Node  *Node // its place
}

// Variables reads environment or args in either form, a map or a list.
func (n *Node) Variables() []Variable {
	if n == nil {
		return nil
	}
	var out []Variable
	for _, m := range pairs(n).Members {
		out = append(out, Variable{m.Name, m.Value.String(), !m.Value.Null, m.Value})
	}
	return out
}

// Build says what a service builds; ok is false when it builds nothing.
// context and dockerfile are slash-separated, dockerfile relative to context.
func (s *Service) Build() (context, dockerfile, target string, ok bool) {
	b := s.Get("build")
	if b == nil || b.Kind == Scalar && b.Null {
		return "", "", "", false
	}
	context, dockerfile = ".", "Dockerfile"
	if b.Kind == Scalar {
		return b.Text, dockerfile, "", true
	}
	if c := b.Get("context").String(); c != "" {
		context = c
	}
	if d := b.Get("dockerfile").String(); d != "" {
		dockerfile = d
	}
	return context, dockerfile, b.Get("target").String(), true
}

// Words returns command or entrypoint as words. A text is split as a shell would
// split it, as far as quotes go.
func (n *Node) Words() (out []string) {
	if n == nil || n.Null {
		return nil
	}
	if n.Kind == List {
		for _, i := range n.Items {
			out = append(out, i.Text)
		}
		return out
	}
	words, _ := shellword.Split(n.Text)
	for _, w := range words {
		out = append(out, w.Text)
	}
	return out
}

// Type names what YAML takes a scalar for: "str", "bool", "int", "float" or
// "null".
func (n *Node) Type() string {
	if n.Null {
		return "null"
	}
	return strings.TrimPrefix(n.tag, "!!")
}
