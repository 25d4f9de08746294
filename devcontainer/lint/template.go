package lint

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/budget"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

var (
	templateOption = lazyregexp.New(`\$\{templateOption:\s*(\w+?)\s*\}`)   // as the reference CLI replaces it
	anyOption      = lazyregexp.New(`\$\{templateOption:\s*([^}]*?)\s*\}`) // as somebody may have meant it
	optionName     = lazyregexp.New(`^\w+$`)
	wholeVersion   = lazyregexp.New(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
)

// identity compares what a Template or Feature is called with where it lies.
func identity(v *rule.View) (out []rule.Finding) {
	if id, ok := v.Root.Member("id").Str(); ok && v.Folder != "" && id != v.Folder {
		out = append(out, v.AtValue(v.Root.Member("id"), fmt.Sprintf("the id %q is not the folder's name %q", id, v.Folder),
			"give both the same name"))
	}
	if id := v.Root.Member("id").TextOr(""); id != strings.ToLower(id) && !strings.Contains(id, "$") {
		out = append(out, v.AtValue(v.Root.Member("id"), fmt.Sprintf("no registry takes the name %q: it has capital letters", id),
			"write the id and the folder in small letters"))
	}
	if version, ok := v.Root.Member("version").Str(); ok && !wholeVersion.MatchString(version) {
		out = append(out, v.AtValue(v.Root.Member("version"), fmt.Sprintf("%q is no semantic version", version),
			"write three numbers, such as 1.0.0"))
	}
	return out
}

// installMissing reports a Feature without its program, and a Template without a configuration where tools look for it.
func installMissing(v *rule.View) []rule.Finding {
	if v.Kind() == devcontainer.TemplateFile {
		if v.Tree == nil || len(devcontainer.Places(v.Tree, v.Dir)) > 0 {
			return nil
		}
		f := v.AtMissing(nil, "the Template has no devcontainer.json where tools look for it",
			"write .devcontainer/devcontainer.json or .devcontainer.json next to this file")
		f.Severity = diag.SeverityWarning
		return []rule.Finding{f}
	}
	if v.Tree == nil || devcontainer.HasEntry(v.Tree, path.Join(v.Dir, "install.sh")) { // which may be unchecked
		return nil
	}
	return []rule.Finding{v.AtMissing(nil, "there is no install.sh next to it", "the Feature's work is done by install.sh; it may be empty")}
}

// options returns the Template's options.
func options(v *rule.View) []jsonc.Member {
	if n := v.Root.Member("options"); n != nil && n.Kind == jsonc.Object {
		return n.Members
	}
	return nil
}

// unusableOptions reports options that no file can use.
func unusableOptions(v *rule.View) (out []rule.Finding) {
	for _, m := range options(v) {
		if !optionName.MatchString(m.Name) {
			out = append(out, v.AtName(m, fmt.Sprintf("the option %q can be used nowhere", m.Name), "letters, digits and _ only"))
		}
	}
	return out
}

// rawDefaults reports defaults that are no text.
func rawDefaults(v *rule.View) (out []rule.Finding) {
	for _, m := range options(v) {
		kind, _ := m.Value.Member("type").Str()
		if d := m.Value.Member("default"); d != nil && d.Kind == jsonc.Bool && kind != "string" {
			out = append(out, v.AtValue(d, fmt.Sprintf("the default of %s is no text", m.Name), fmt.Sprintf("write %q", d.Text)))
		}
	}
	return out
}

// structure matches what ends a text or begins something else where a value is put in: a file with such values may mean other things
// than what is written in it, which tools read when the folder is opened as it is.
var structure = lazyregexp.New(`["\\{}\x00-\x1f]|/\*|\*/|(^|[^:])//`)

// structuralValues reports values that may change what the file around them says.
func structuralValues(v *rule.View) (out []rule.Finding) {
	for _, m := range options(v) {
		for _, n := range append(rights.Texts(m.Value.Member("default")), append(rights.Texts(m.Value.Member("enum")),
			rights.Texts(m.Value.Member("proposals"))...)...) {
			if structure.MatchString(n.Text) {
				out = append(out, v.AtValue(n, fmt.Sprintf("the value %q of the option %s may change what the file around it says",
					jsonc.Abbreviate(n.Text), m.Name), "values are put in as they are: no quotes, backslashes, braces, comments or line breaks"))
			}
		}
	}
	return out
}

// maxTemplateFiles bounds the walk over a Template's folder.
const maxTemplateFiles = 1000

// templateFiles returns the files of the Template; none where nothing is known
// around its metadata.
func templateFiles(v *rule.View) []string {
	if v.Tree == nil {
		return nil
	}
	return rule.Once(v, "templateFiles", func(v *rule.View) []string { return filesBelow(v.Tree, v.Dir, nil) })
}

func filesBelow(tree devcontainer.Tree, dir string, found []string) []string {
	for _, name := range tree.List(dir) {
		full := path.Join(dir, name)
		switch tree.Kind(full) {
		case devcontainer.Folder:
			if name != ".git" && name != "node_modules" {
				found = filesBelow(tree, full, found)
			}
		case devcontainer.File:
			found = append(found, full)
		}
		if len(found) >= maxTemplateFiles {
			break
		}
	}
	return found
}

// optionUse is a place of a file that uses an option.
type optionUse struct {
	rights.Place
	name string
}

func optionUses(v *rule.View) []optionUse { return rule.Once(v, "optionUses", findOptionUses) }

func findOptionUses(v *rule.View) (out []optionUse) {
	for _, file := range templateFiles(v) {
		src, err := v.Tree.Read(file)
		if path.Base(file) == devcontainer.TemplateName || err != nil || !bytes.Contains(src, []byte("${templateOption:")) {
			continue
		}
		doc := templateDocument(v.Quoted(strings.TrimPrefix(file, v.Dir+"/")), src)
		v.Also(doc)
		for _, m := range anyOption.FindAllSubmatchIndex(src, -1) {
			out = append(out, optionUse{rights.Place{Doc: doc, Start: m[0], End: m[1]}, string(src[m[2]:m[3]])})
		}
	}
	return out
}

// meant returns the option that an unknown name is a slip for, or "".
func meant(v *rule.View, name string) string {
	var names []string
	for _, m := range options(v) {
		names = append(names, m.Name)
	}
	return nearest(name, names)
}

// undeclaredOptions reports options that a file uses and the Template lacks.
func undeclaredOptions(v *rule.View) (out []rule.Finding) {
	for _, use := range optionUses(v) {
		if v.Root.Member("options").Member(use.name) != nil {
			continue
		}
		hint := "declare it in devcontainer-template.json"
		if best := meant(v, use.name); best != "" {
			hint = fmt.Sprintf("did you mean %q?", best)
		}
		out = append(out, rule.Finding{Place: use.Place, Message: fmt.Sprintf("there is no option %q", use.name), Hint: hint})
	}
	return out
}

// unusedOptions reports options that no file uses, not even by a slip.
func unusedOptions(v *rule.View) (out []rule.Finding) {
	if v.Tree == nil {
		return nil
	}
	used := map[string]bool{}
	for _, use := range optionUses(v) {
		used[use.name] = true
		if v.Root.Member("options").Member(use.name) == nil {
			used[meant(v, use.name)] = true
		}
	}
	for _, m := range options(v) {
		if !used[m.Name] {
			out = append(out, v.AtName(m, fmt.Sprintf("no file uses the option %q", m.Name), "use it, or remove it"))
		}
	}
	return out
}

// describing are the files of a Template that the reference CLI never applies.
var describing = []string{devcontainer.TemplateName, "README.md", "NOTES.md"}

// idlePaths reports optional paths that are never written.
func idlePaths(v *rule.View) (out []rule.Finding) {
	if v.Tree == nil {
		return nil
	}
	files := templateFiles(v)
	for _, n := range rights.Texts(v.Root.Member("optionalPaths")) {
		name, below := strings.CutSuffix(n.Text, "/*")
		full := path.Join(v.Dir, name)
		switch {
		case slices.Contains(describing, n.Text):
			out = append(out, v.AtValue(n, n.Text+" is never applied", "remove it from the list"))
		case !slices.ContainsFunc(files, func(f string) bool { return f == full || below && strings.HasPrefix(f, full+"/") }):
			out = append(out, v.AtValue(n, n.Text+" names no file of the Template", `write a file, or a folder as "FOLDER/*"`))
		}
	}
	return out
}

// rendering is the Template's configuration with one choice of options.
type rendering struct {
	name string      // of the file
	at   *jsonc.Node // what chooses
	how  string      // "with the defaults"
	tree *renderedTree
	// whole says that the file is well formed as it is, so that values break it.
	whole bool
	*devcontainer.Project
}

// renderings returns it with the defaults and with each value of each option
// that it offers; none for a Template with other errors.
func renderings(v *rule.View) []rendering { return allRenderings(v).list }

// renderedChoices are the renderings of a Template; cut says that it has more choices.
type renderedChoices struct {
	list []rendering
	cut  bool
}

func allRenderings(v *rule.View) renderedChoices {
	return rule.Once(v, "renderings", func(v *rule.View) renderedChoices {
		list, cut := render(v)
		return renderedChoices{list, cut}
	})
}

func render(v *rule.View) (out []rendering, cut bool) {
	if v.Tree == nil || len(v.Syntax)+len(v.Mismatches)+len(unusableOptions(v))+len(rawDefaults(v))+len(undeclaredOptions(v))+
		len(structuralValues(v)) > 0 {
		return nil, false
	}
	work := budget.New(maxRendered)
	defaults := map[string]string{}
	for _, m := range options(v) {
		defaults[m.Name] = m.Value.Member("default").TextOr("")
	}
	for _, name := range devcontainer.Places(v.Tree, v.Dir) {
		src, err := v.Tree.Read(name)
		if err != nil || len(src) > jsonc.MaxSize {
			continue
		}
		whole := devcontainer.Parse(name, src).Object() != nil
		add := func(at *jsonc.Node, how string, choice map[string]string) {
			tree := &renderedTree{v.Tree, v.Dir, choice, map[string][]movement{}}
			below := strings.TrimPrefix(name, v.Dir+"/")
			if cut = cut || len(out) == maxRenderings || work.Spent(); cut {
				return
			}
			if p, err := devcontainer.Load(tree, below, v.Quoted(below)); err == nil {
				p.Org = v.Org // which a folder does not get rid of by being a Template as well
				for _, doc := range p.Documents() {
					work.Spend(len(doc.Src))
				}
				out = append(out, rendering{path.Base(name), at, how, tree, whole, p})
			}
		}
		add(v.Root.Member("id"), "with the defaults", defaults)
		for _, m := range options(v) {
			for _, c := range choices(m.Value) {
				if c.value != defaults[m.Name] {
					choice := maps.Clone(defaults)
					choice[m.Name] = c.value
					add(c.at, fmt.Sprintf("with %s = %q", m.Name, c.value), choice)
				}
			}
		}
	}
	return out, cut
}

// choice is a value that a Template offers for an option, where it says so.
type choice struct {
	at    *jsonc.Node
	value string
}

// choices returns the values that an option lists, and both of a boolean.
func choices(option *jsonc.Node) (out []choice) {
	if kind := option.Member("type"); kind.TextOr("") == "boolean" {
		return []choice{{kind, "true"}, {kind, "false"}}
	}
	for _, n := range append(rights.Texts(option.Member("enum")), rights.Texts(option.Member("proposals"))...) {
		out = append(out, choice{n, n.Text})
	}
	return out
}

// brokenRenderings reports values that break the file. One that is broken in itself has
// findings of its own.
func brokenRenderings(v *rule.View) (out []rule.Finding) {
	broken := map[string]bool{}
	out = structuralValues(v)
	for _, r := range renderings(v) {
		isDefault := r.at == v.Root.Member("id")
		if r.Object() == nil && !broken[r.Config.File] && (r.whole || !isDefault) {
			out = append(out, v.AtValue(r.at, fmt.Sprintf("%s %s is not well formed", r.name, r.how),
				"values are put in as they are: no quotes, backslashes or line breaks"))
		}
		if isDefault && r.Object() == nil {
			broken[r.Config.File] = true
		}
	}
	return out
}

// wellFormed are the rules about whether a configuration is valid.
var wellFormed = sync.OnceValue(func() ruleTable { return index(syntaxRules, schemaRules, referenceRules) })

// invalidRenderings reports choices that make a configuration which is not valid. That of
// the defaults has findings in its own files.
func invalidRenderings(v *rule.View) (out []rule.Finding) {
	always := map[string]bool{}
	for _, r := range renderings(v) {
		if r.Object() == nil {
			continue
		}
		for _, f := range judged(r, wellFormed(), nil) {
			if f.Severity != diag.SeverityError || wellFormed().of[f.Rule] == nil || always[f.Rule+f.Pointer] {
				continue
			}
			if r.at == v.Root.Member("id") {
				always[f.Rule+f.Pointer] = true
				continue
			}
			out = append(out, v.AtValue(r.at, fmt.Sprintf("%s %s: %s [%s]", r.name, r.how, f.Message, f.Rule), f.Hint))
			break
		}
	}
	return out
}
