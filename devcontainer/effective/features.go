package effective

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Feature is one Feature as it is installed.
type Feature struct {
	ID      string     // as the configuration, or a Feature that depends on it, names it
	Folder  string     // of a local one, in the project's tree; "" = it lies in a registry
	Options []Variable // of install.sh: those that were given, and the defaults of others
	Env     []Variable // containerEnv: of the image, from the installation on
}

// Variable is one of the environment.
type Variable struct{ Name, Value string }

// installed says how f is installed.
func (f *feature) installed() Feature {
	out := Feature{ID: f.id, Folder: f.path}
	env, _ := f.entry.object.Get("containerEnv").(Object)
	for _, m := range env {
		out.Env = append(out.Env, Variable{m.Name, text(m.Value)})
	}
	values := Object{}
	declared, _ := f.entry.object.Get("options").(Object)
	for _, m := range declared {
		if option, ok := m.Value.(Object); ok && option.Has("default") {
			values.set(m.Name, option.Get("default"))
		}
	}
	switch given := f.options.(type) {
	case Object:
		for _, m := range given {
			values.set(m.Name, m.Value)
		}
	case string:
		values.set("version", given)
	}
	for _, m := range values {
		name := strings.ToUpper(leadingDigits.ReplaceAllString(notInNames.ReplaceAllString(m.Name, "_"), "_"))
		out.Options = append(out.Options, Variable{name, text(m.Value)})
	}
	return out
}

// The characters that the specification replaces in the name of an option ("Option resolution").
var (
	notInNames    = regexp.MustCompile(`[^\w_]`)
	leadingDigits = regexp.MustCompile(`^[\d_]+`)
)

// feature is a node of the graph that decides the order of installation
// (specification, "Installation order").
type feature struct {
	id      string // as written, with version
	options any
	entry   entry
	aliases []string // its own id and those it had before
	path    string   // of a local one: its folder
	before  []*feature
	soft    []string // installsAfter
	rank    int      // from overrideFeatureInstallOrder
}

func (f *feature) local() bool { return f.path != "" }

// resource is the id without its version, in lower case.
func resource(id string) string {
	id = strings.ToLower(id)
	if name, _, ok := strings.Cut(id, "@"); ok {
		return name
	}
	if at := strings.LastIndexByte(id, ':'); at > strings.LastIndexByte(id, '/') {
		return id[:at]
	}
	return id
}

// maxFeatures bounds those that are looked up: metadata comes from registries,
// and each may name others that it depends on.
const maxFeatures = 200

// features resolves those that the configuration names, and what they depend
// on, in the order of installation. Those whose metadata is not known are
// left out and named.
func (r *resolver) features(config Object) []*feature {
	named, _ := config.Get("features").(Object)
	var queue, graph []*feature
	for _, m := range named {
		queue = append(queue, &feature{id: m.Name, options: m.Value})
	}
	for asked := 0; len(queue) > 0; asked++ {
		if asked == maxFeatures {
			r.unknown("all Features, with what they depend on: more than %d, so some are left out", maxFeatures)
			break
		}
		f := queue[0]
		queue = queue[1:]
		if !r.metadata(f) || slices.ContainsFunc(graph, func(g *feature) bool { return equal(f, g) }) {
			continue
		}
		graph = append(graph, f)
		depends, _ := f.entry.object.Get("dependsOn").(Object)
		for _, d := range depends {
			dep := &feature{id: d.Name, options: d.Value}
			f.before = append(f.before, dep)
			queue = append(queue, dep)
		}
		for _, s := range list(f.entry.object.Get("installsAfter")) {
			if id, ok := s.(string); ok {
				f.soft = append(f.soft, id)
			}
		}
	}
	order := list(config.Get("overrideFeatureInstallOrder"))
	for i, id := range order {
		for _, f := range graph {
			if name, ok := id.(string); ok && r.satisfies(f, name) {
				f.rank = max(f.rank, len(order)-i)
			}
		}
	}
	return r.rounds(graph)
}

// rounds installs in rounds what has nothing left to wait for.
func (r *resolver) rounds(left []*feature) []*feature {
	for _, f := range left {
		f.soft = slices.DeleteFunc(f.soft, func(id string) bool {
			return !slices.ContainsFunc(left, func(g *feature) bool { return r.satisfies(g, id) })
		})
		f.before = slices.DeleteFunc(f.before, func(d *feature) bool {
			return !slices.ContainsFunc(left, func(g *feature) bool { return equal(d, g) }) // its metadata is unknown
		})
	}
	var done []*feature
	for len(left) > 0 {
		var round []*feature
		highest := 0
		for _, f := range left {
			ready := !slices.ContainsFunc(f.before, func(d *feature) bool {
				return !slices.ContainsFunc(done, func(g *feature) bool { return equal(d, g) })
			}) && !slices.ContainsFunc(f.soft, func(id string) bool {
				return !slices.ContainsFunc(done, func(g *feature) bool { return r.satisfies(g, id) })
			})
			if ready {
				round = append(round, f)
				highest = max(highest, f.rank)
			}
		}
		if len(round) == 0 {
			r.unknown("the Features wait for each other; the reference implementation refuses that")
			return append(done, left...)
		}
		round = slices.DeleteFunc(round, func(f *feature) bool { return f.rank < highest })
		left = slices.DeleteFunc(left, func(f *feature) bool { return slices.Contains(round, f) })
		slices.SortStableFunc(round, compare)
		done = append(done, round...)
	}
	return done
}

// satisfies reports whether f is what installsAfter or the override means.
func (r *resolver) satisfies(f *feature, id string) bool {
	if rights.IsLocal(id) || f.local() {
		return rights.IsLocal(id) && f.local() && f.path == path.Join(r.project.Dir, id)
	}
	return resource(f.id) == resource(id) || slices.ContainsFunc(f.aliases, func(alias string) bool {
		return path.Join(path.Dir(resource(f.id)), alias) == resource(id)
	})
}

func equal(a, b *feature) bool { return a.local() == b.local() && compare(a, b) == 0 }

// compare orders Features within a round.
func compare(a, b *feature) int {
	switch {
	case a.local() != b.local():
		return collate(a.id, b.id)
	case a.local():
		return cmp.Or(collate(a.path, b.path), compareOptions(a.options, b.options))
	}
	ra, rb := resource(a.id), resource(b.id)
	return cmp.Or(collate(path.Dir(ra), path.Dir(rb)), collate(path.Base(ra), path.Base(rb)), collate(a.id, b.id),
		compareOptions(a.options, b.options))
}

func compareOptions(a, b any) int {
	x, isX := a.(Object)
	y, isY := b.(Object)
	if !isX || !isY {
		return collate(fmt.Sprint(a), fmt.Sprint(b))
	}
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	names := func(o Object) []string {
		var out []string
		for _, m := range o {
			out = append(out, m.Name)
		}
		slices.Sort(out)
		return out
	}
	xs, ys := names(x), names(y)
	for i := range xs {
		if c := cmp.Or(collate(xs[i], ys[i]), collate(text(x.Get(xs[i])), text(y.Get(ys[i])))); c != 0 {
			return c
		}
	}
	return 0
}

// collate compares as JavaScript's localeCompare does for the characters that
// ids and paths are made of: punctuation, then digits, then letters, whose case
// counts only when nothing else differs (Unicode collation, root locale).
func collate(a, b string) int {
	const punctuation = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"
	weight := func(c byte) int {
		if at := strings.IndexByte(punctuation, c); at >= 0 {
			return at
		}
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		return 100 + int(c)
	}
	for i := 0; i < len(a) && i < len(b); i++ {
		if c := weight(a[i]) - weight(b[i]); c != 0 {
			return c
		}
	}
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return cmp.Compare(b, a) // lower case first
}

// metadata fills in what the Feature's devcontainer-feature.json says; false
// when it is not known.
func (r *resolver) metadata(f *feature) bool {
	name, src := "", []byte(nil)
	switch {
	case rights.IsLocal(f.id):
		folder, ok := r.project.Path(f.id)
		if !ok || r.project.Tree == nil {
			r.unknown("Feature %s lies outside the project", f.id)
			return false
		}
		f.path, name = folder, path.Join(folder, devcontainer.FeatureName)
		text, err := r.project.Tree.Read(name)
		if err != nil {
			r.unknown("Feature %s: there is no %s", f.id, name)
			return false
		}
		src = text
	case r.options.Feature == nil:
		r.unknown("Feature %s: its metadata lies in a registry, which was not asked", f.id)
		return false
	default:
		text, err := r.options.Feature(f.id)
		if err != nil {
			r.unknown("Feature %s: %v", f.id, err)
			return false
		}
		src = text
	}
	doc, findings := jsonc.Parse(name, src)
	if doc == nil || doc.Root.Kind != jsonc.Object {
		r.unknown("Feature %s: its metadata is not well formed%s", f.id, firstOf(findings))
		return false
	}
	f.entry = entry{source: f.id, root: doc.Root, object: valueOf(doc.Root).(Object)}
	if f.local() {
		f.entry.doc = doc
	}
	legacyCustomizations(&f.entry.object)
	id, _ := f.entry.object.Get("currentId").(string)
	if id == "" {
		id, _ = f.entry.object.Get("id").(string)
	}
	f.aliases = []string{id}
	for _, old := range list(f.entry.object.Get("legacyIds")) {
		if s, ok := old.(string); ok {
			f.aliases = append(f.aliases, s)
		}
	}
	return true
}

// legacyCustomizations moves extensions and settings to where they belong
// today, as the reference implementation does.
func legacyCustomizations(o *Object) {
	extensions, settings, port := o.Get("extensions"), o.Get("settings"), o.Get("devPort")
	if !truthy(extensions) && !truthy(settings) && !o.Has("devPort") {
		return
	}
	all, _ := o.Get("customizations").(Object)
	vscode, _ := all.Get("vscode").(Object)
	all, vscode = slices.Clone(all), slices.Clone(vscode)
	if truthy(extensions) {
		vscode.set("extensions", slices.Concat(list(vscode.Get("extensions")), list(extensions)))
		o.remove("extensions")
	}
	if truthy(settings) {
		merged, _ := settings.(Object)
		merged = slices.Clone(merged)
		own, _ := vscode.Get("settings").(Object)
		for _, m := range own {
			merged.set(m.Name, m.Value)
		}
		vscode.set("settings", merged)
		o.remove("settings")
	}
	if o.Has("devPort") && !vscode.Has("devPort") {
		vscode.set("devPort", port)
		o.remove("devPort")
	}
	all.set("vscode", vscode)
	o.set("customizations", all)
}

func (o *Object) remove(name string) {
	*o = slices.DeleteFunc(*o, func(m Member) bool { return m.Name == name })
}
