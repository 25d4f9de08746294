package compose

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/budget"
	"github.com/org/claude-sandbox/internal/diag"
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
	// Chosen are the places that name a further file by a variable: another host may have another one.
	Chosen []Problem

	work     *budget.Budget
	env      variables // of the project's files
	rest     string    // why the rest was not worked out
	services []*Service
	byName   map[string]*Service
	of       *Node // the Root that services are of
}

// Unread is a file that is named and cannot be read.
type Unread struct {
	Problem
	Name  string
	Text  string // as the file has it
	Cause Cause
}

// Cause is why a file was not read.
type Cause int

const (
	Broken  Cause = iota // it is there, and cannot be read
	Missing              // there is no such file, as far as the reader sees
	Remote               // Compose fetches it
	Outside              // it is not among the files that are known, or only the host knows its name
)

// ErrOutside is the error with which a reader refuses a name that leads out of the files it knows.
var ErrOutside = errors.New("it lies outside the project")

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
	l := &loader{project: p, read: read, extended: map[string]*Node{}, raws: map[string]*Node{}, open: map[string]bool{}}
	p.env = variables{strict: env != nil, work: p.work, lookup: func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}}
	if len(names) > 0 {
		l.dir = path.Dir(names[0])
		p.env = l.withEnvFile(p.env, path.Join(l.dir, ".env"))
	}
	l.env = p.env
	for i, doc := range docs {
		name := doc.File
		if i < len(names) {
			name = names[i]
		}
		if root := l.file(doc, name, l.dir); root != nil {
			p.Root = l.overlay(p.Root, root, "")
		}
	}
	if p.Root != nil {
		p.Root = finished(p.Root, "")
	}
	return p
}

type loader struct {
	project  *Project
	read     func(string) (*jsonc.Document, error)
	dir      string // of the first file: what the project's files name is relative to it
	env      variables
	files    int
	extended map[string]*Node // services by file and name, with what they extend; nil while that is followed
	raws     map[string]*Node // files that extends names
	circle   bool             // a service that extends itself was found
	open     map[string]bool  // files whose include is being followed
}

// withEnvFile is env with the variables of a file below it, if there is one.
func (l *loader) withEnvFile(env variables, name string) variables {
	if l.read == nil {
		return env
	}
	doc, err := l.read(name)
	if err != nil {
		return env
	}
	above := env.lookup
	values := map[string]string{}
	for _, v := range envFile(jsonc.Text(".env", bytes.TrimPrefix(doc.Src, []byte("\ufeff"))), env) {
		if v.Set {
			values[v.Name] = v.Value
		}
	}
	env.lookup = func(name string) (string, bool) {
		if value, ok := above(name); ok {
			return value, true
		}
		value, ok := values[name]
		return value, ok
	}
	return env
}

// parse reads one file; nil when it cannot be used.
func (l *loader) parse(doc *jsonc.Document) *Node {
	if l.files++; l.files > maxFiles {
		l.project.rest = fmt.Sprintf("include and extends name more than %d files", maxFiles)
		return nil
	}
	root, problem, twice := parse(doc, l.env)
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

// file parses a file, puts below it what it includes and resolves extends. Its
// paths are relative to dir.
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
	if list := root.Get("include"); list != nil {
		for _, item := range list.Items {
			below = l.overlay(below, l.included(item, dir), "")
		}
	}
	return l.overlay(below, root, "")
}

// included reads what an element of include names, in its short or long form:
// files laid over each other, with a folder and variables of their own.
func (l *loader) included(item *Node, dir string) *Node {
	paths := item.Scalars()
	if item.Kind == Map {
		paths = item.Get("path").Scalars()
	}
	if len(paths) == 0 {
		return nil
	}
	home := path.Dir(path.Join(dir, paths[0].Text))
	if own := item.Get("project_directory").String(); own != "" {
		if home = own; !path.IsAbs(own) {
			home = path.Join(dir, own)
		}
	}
	outer := l.env
	defer func() { l.env = outer }()
	if files := item.Get("env_file").Scalars(); len(files) > 0 {
		for _, f := range slices.Backward(files) { // later ones win
			l.env = l.withEnvFile(l.env, path.Join(dir, f.Text))
		}
	} else {
		l.env = l.withEnvFile(l.env, path.Join(home, ".env"))
	}
	var out *Node
	for _, at := range paths {
		name := path.Join(dir, at.Text)
		if l.open[name] {
			l.project.refuse(at, fmt.Sprintf("%s includes itself", at.Text))
		} else if doc := l.document(at.Text, dir, at); doc != nil {
			out = l.overlay(out, l.file(doc, name, home), "")
		}
	}
	return movedProject(out, home, dir)
}

// document reads a file that another one names, relative to dir; nil when that
// cannot be, which at says.
func (l *loader) document(name, dir string, at *Node) *jsonc.Document {
	remote := strings.Contains(name, "://") || strings.HasPrefix(name, "git@")
	say := func(cause Cause, format string, args ...any) {
		problem := Problem{at.Doc, at.Start, at.End, fmt.Sprintf(format, args...)}
		l.project.Unread = append(l.project.Unread, Unread{problem, path.Join(dir, name), name, cause})
	}
	if at.Varies() {
		l.project.Chosen = append(l.project.Chosen, Problem{at.Doc, at.Start, at.End, name + " is chosen by a variable"})
	}
	switch {
	case l.read == nil:
		say(Outside, "nothing around this file is known")
	case remote:
		say(Remote, "%s comes from elsewhere", name)
	case strings.Contains(name, "$"):
		say(Outside, "%s depends on a variable", name)
	case path.IsAbs(name):
		say(Outside, "%s lies outside the project", name)
	default:
		doc, err := l.read(path.Join(dir, name))
		if err == nil {
			return doc
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			say(Missing, "there is no file %s", name)
		case errors.Is(err, ErrOutside):
			say(Outside, "%s lies outside the project", name)
		default:
			say(Broken, "%s cannot be read: %v", name, diag.WithoutPath(err))
		}
	}
	return nil
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
	l.extended[key] = l.over(root, name, dir, n, from)
	return l.extended[key]
}

// over finds what a service extends and lays the service over it.
func (l *loader) over(root *Node, name, dir string, n, from *Node) *Node {
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
	return l.overlay(moved(below, otherDir, dir), n, "/services/x")
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
