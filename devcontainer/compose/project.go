package compose

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/budget"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// maxFiles bounds how many files include and extends may bring.
const maxFiles = 50

// Project is one or more Compose files laid over each other.
type Project struct {
	Root     *Node // the files as one; nil when none could be read
	Problems []Problem
	Twice    []Problem // names that a map has more than once
	// Unread are files that include and extends name and that cannot be read, at
	// the place that names them.
	Unread []Unread

	work     *budget.Budget
	rest     string // why the rest was not worked out
	services []*Service
	byName   map[string]*Service
	of       *Node // the Root that services are of
}

// Unread is a file that is named and cannot be read.
type Unread struct {
	Problem
	Name    string
	Missing bool // there is no such file, as far as the reader sees
	Remote  bool // Compose fetches it
}

// Incomplete says why a part of the project is not worked out; "" when all of
// it is.
func (p *Project) Incomplete() string {
	if p.rest == "" && p.work.Spent() {
		return fmt.Sprintf("variables, aliases and extends stand for more than %d bytes", maxWork)
	}
	return p.rest
}

// Load reads the documents in their order: later ones win. names are their
// paths for read, which returns further files by slash-separated names, and
// .env next to the first one; read may be nil. env are variables of the host, and
// a variable that is neither there nor in .env is empty. With nil nothing is
// known of the host, and such a variable stays as it is written.
func Load(docs []*jsonc.Document, names []string, read func(name string) (*jsonc.Document, error), env map[string]string) *Project {
	p := &Project{work: budget.New(maxWork)}
	l := &loader{project: p, read: read, env: map[string]string{}, strict: env != nil, extended: map[string]*Node{}, raws: map[string]*Node{}, open: map[string]bool{}}
	if len(names) > 0 {
		l.dir = path.Dir(names[0])
	}
	if len(names) > 0 && read != nil {
		if doc, err := read(path.Join(path.Dir(names[0]), ".env")); err == nil {
			l.dotEnv(doc.Src)
		}
	}
	for name, value := range env {
		l.env[name] = value
	}
	for i, doc := range docs {
		name := doc.File
		if i < len(names) {
			name = names[i]
		}
		if root := l.file(doc, name, l.dir); root != nil {
			p.Root = l.overlay(p.Root, root, "")
		}
	}
	return p
}

type loader struct {
	project  *Project
	read     func(string) (*jsonc.Document, error)
	dir      string // of the first file: what the project's files name is relative to it
	env      map[string]string
	strict   bool
	files    int
	extended map[string]*Node // services by file and name, with what they extend; nil while that is followed
	raws     map[string]*Node // files that extends names
	circle   bool             // a service that extends itself was found
	open     map[string]bool  // files whose include is being followed
}

// dotEnv reads NAME=value lines.
func (l *loader) dotEnv(src []byte) {
	for _, v := range EnvFile(jsonc.Text(".env", src)) {
		if v.Set {
			l.env[v.Name] = v.Value
		}
	}
}

func (l *loader) lookup(name string) (string, bool) {
	v, ok := l.env[name]
	return v, ok
}

// parse reads one file; nil when it cannot be used.
func (l *loader) parse(doc *jsonc.Document) *Node {
	if l.files++; l.files > maxFiles {
		l.project.rest = fmt.Sprintf("include and extends name more than %d files", maxFiles)
		return nil
	}
	root, problem, twice := parse(doc, variables{lookup: l.lookup, strict: l.strict, work: l.project.work})
	l.project.Twice = append(l.project.Twice, twice...)
	switch {
	case problem != nil:
		l.project.Problems = append(l.project.Problems, *problem)
		return nil
	case root == nil:
		l.project.refuse(&Node{Doc: doc}, "a Compose file is a map with services")
		return nil
	case root.Kind != Map:
		l.project.refuse(root, "a Compose file is a map with services")
		return nil
	}
	return root
}

// file parses a file, puts below it what it includes and resolves extends. What
// it names is relative to dir.
func (l *loader) file(doc *jsonc.Document, name, dir string) *Node {
	root := l.parse(doc)
	if root == nil {
		return nil
	}
	l.open[name] = true
	defer delete(l.open, name)
	if services := root.Get("services"); services != nil && services.Kind != Map && !services.Null {
		l.project.refuse(services, "services is a map by name")
	} else if services != nil {
		for i := range services.Members {
			services.Members[i].Value = l.extend(root, services.Members[i].Name, name, dir, services.Members[i].Value)
		}
	}
	var below *Node
	for _, item := range included(root.Get("include")) {
		full := path.Join(dir, item.Text)
		if l.open[full] {
			l.project.refuse(item, fmt.Sprintf("%s includes itself", item.Text))
			continue
		}
		if more := l.named(item, dir); more != nil {
			if services := more.Get("services"); services != nil {
				for i := range services.Members {
					services.Members[i].Value = l.moved(services.Members[i].Value, path.Dir(full), dir)
				}
			}
			below = l.overlay(below, more, "")
		}
	}
	return l.overlay(below, root, "")
}

// included lists the files that include names, in its short and long form.
func included(n *Node) []*Node {
	if n == nil {
		return nil
	}
	var out []*Node
	for _, item := range n.Items {
		from := item
		if item.Kind == Map {
			from = item.Get("path")
		}
		out = append(out, from.Scalars()...)
	}
	return out
}

func (l *loader) named(item *Node, dir string) *Node {
	doc := l.document(item.Text, dir, item)
	if doc == nil {
		return nil
	}
	name := path.Join(dir, item.Text)
	return l.file(doc, name, path.Dir(name))
}

// document reads a file that another one names, relative to dir; nil when that
// cannot be, which at says.
func (l *loader) document(name, dir string, at *Node) *jsonc.Document {
	remote := strings.Contains(name, "://") || strings.HasPrefix(name, "git@")
	say := func(message string, missing bool) {
		l.project.Unread = append(l.project.Unread, Unread{Problem{at.Doc, at.Start, at.End, message}, path.Join(dir, name), missing, remote})
	}
	switch {
	case l.read == nil:
		say("nothing around this file is known", false)
	case strings.Contains(name, "$"):
		say(fmt.Sprintf("%s depends on a variable", name), false)
	case remote:
		say(fmt.Sprintf("%s comes from elsewhere", name), false)
	case path.IsAbs(name):
		say(fmt.Sprintf("%s lies outside the project", name), false)
	default:
		doc, err := l.read(path.Join(dir, name))
		if err == nil {
			return doc
		}
		if errors.Is(err, fs.ErrNotExist) {
			say(fmt.Sprintf("there is no file %s", name), true)
		} else {
			say(fmt.Sprintf("%s cannot be read: %v", name, reason(err)), false)
		}
	}
	return nil
}

// reason is an error without the path that it names.
func reason(err error) error {
	var place *fs.PathError
	if errors.As(err, &place) {
		return place.Err
	}
	return err
}

// extend lays a service over the one that it extends. Each is worked out once:
// a chain of thousands must not take longer than its length.
func (l *loader) extend(root *Node, service, name, dir string, n *Node) *Node {
	from := n.Get("extends")
	if from == nil {
		return n
	}
	key := name + "\x00" + service
	if done, ok := l.extended[key]; ok {
		if done == nil && !l.circle { // it is being worked out; one circle, one problem
			l.circle = true
			l.project.refuse(from, fmt.Sprintf("the service %s extends itself", service))
		}
		return cmp.Or(done, n)
	}
	l.extended[key] = nil
	l.extended[key] = l.over(root, service, name, dir, n, from)
	return l.extended[key]
}

// over finds what a service extends and lays the service over it.
func (l *loader) over(root *Node, service, name, dir string, n, from *Node) *Node {
	base, file, at := from.String(), name, from
	if from.Kind == Map {
		base = from.Get("service").String()
		if f := from.Get("file"); f != nil {
			file = path.Join(dir, f.String())
			at = f
		}
	}
	if base == "" {
		return n
	}
	other, otherDir := root, dir
	if file != name {
		other, otherDir = l.raw(file, at.Text, dir, at), path.Dir(file)
	}
	below := other.Get("services").Get(base)
	if below == nil {
		if !slices.ContainsFunc(l.project.Unread, func(u Unread) bool { return u.Name == file }) {
			l.project.refuse(from, fmt.Sprintf("there is no service %s to extend", base))
		}
		return n
	}
	below = l.extend(other, base, file, otherDir, below)
	return l.overlay(l.moved(below, otherDir, dir), n, "/services/x")
}

// raw reads a file that extends names, once, and follows nothing in it.
func (l *loader) raw(full, name, dir string, at *Node) *Node {
	if root, ok := l.raws[full]; ok {
		return root
	}
	l.raws[full] = nil
	if doc := l.document(name, dir, at); doc != nil {
		l.raws[full] = l.parse(doc)
	}
	return l.raws[full]
}

// overlay merges two values; nothing more when the budget is spent.
func (l *loader) overlay(below, above *Node, at string) *Node {
	return (&merger{l.project.work}).overlay(below, above, at)
}

type merger struct{ work *budget.Budget }

// overlay merges two values as Compose merges its files: maps by name, lists
// one after the other, scalars by replacing. at is the place in the file that
// decides about the exceptions.
func (m *merger) overlay(below, above *Node, at string) *Node {
	switch {
	case below == nil:
		return above
	case above == nil:
		return below
	case above.tag == "!override" || above.tag == "!reset":
		return above
	}
	last := path.Base(at)
	if last == "environment" || last == "labels" || last == "args" || last == "extra_hosts" {
		below, above = pairs(below), pairs(above)
	}
	switch {
	case below.Kind != above.Kind || !m.work.Spend(perNode*(1+len(below.Members)+len(below.Items)+len(above.Members)+len(above.Items))):
		return above
	case above.Kind == Map:
		out := &Node{Kind: Map, Doc: above.Doc, Start: above.Start, End: above.End, Members: slices.Clone(below.Members)}
		for _, member := range above.Members {
			member.Value = m.overlay(below.Get(member.Name), member.Value, at+"/"+member.Name)
			out.put(member)
		}
		return out
	case above.Kind == List && last != "command" && last != "entrypoint" && last != "test":
		out := &Node{Kind: List, Doc: above.Doc, Start: above.Start, End: above.End}
		out.Items = append(slices.Clone(below.Items), above.Items...)
		if last == "volumes" || last == "devices" {
			out.Items = byTarget(out.Items)
		} else {
			out.Items = distinct(out.Items)
		}
		return out
	}
	return above
}

// pairs turns a list of NAME=value into a map.
func pairs(n *Node) *Node {
	if n.Kind != List {
		return n
	}
	out := &Node{Kind: Map, Doc: n.Doc, Start: n.Start, End: n.End}
	for _, item := range n.Items {
		name, value, ok := strings.Cut(item.Text, "=")
		v := *item
		v.Text, v.Null = value, !ok
		out.put(Member{name, item.Start, item.End, &v})
	}
	return out
}

// distinct keeps of equal texts the first.
func distinct(items []*Node) []*Node {
	seen := map[string]bool{}
	return slices.DeleteFunc(items, func(n *Node) bool {
		if n.Kind != Scalar || n.Null {
			return false
		}
		again := seen[n.Text]
		seen[n.Text] = true
		return again
	})
}

// byTarget keeps of the volumes or devices with one target the last.
func byTarget(items []*Node) []*Node {
	target := func(n *Node) string {
		if n.Kind == Map {
			return n.Get("target").String()
		}
		_, rest, ok := strings.Cut(n.Text, ":")
		if !ok {
			return n.Text
		}
		rest, _, _ = strings.Cut(rest, ":")
		return rest
	}
	var out []*Node
	seen := map[string]bool{}
	for _, n := range slices.Backward(items) {
		if t := target(n); t == "" || !seen[t] {
			seen[t] = true
			out = append(out, n)
		}
	}
	slices.Reverse(out)
	return out
}
