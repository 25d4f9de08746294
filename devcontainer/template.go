package devcontainer

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

var (
	templateOption = regexp.MustCompile(`\$\{templateOption:\s*(\w+?)\s*\}`)   // as the reference CLI replaces it
	anyOption      = regexp.MustCompile(`\$\{templateOption:\s*([^}]*?)\s*\}`) // as somebody may have meant it
	optionName     = regexp.MustCompile(`^\w+$`)
	wholeVersion   = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
)

// identity compares what a Template or Feature is called with where it lies.
func identity(v *view) (out []finding) {
	if id, ok := v.root.Member("id").Str(); ok && v.folder != "" && id != v.folder {
		out = append(out, v.atValue(v.root.Member("id"), fmt.Sprintf("the id %q is not the folder's name %q", id, v.folder), "give both the same name"))
	}
	if version, ok := v.root.Member("version").Str(); ok && !wholeVersion.MatchString(version) {
		out = append(out, v.atValue(v.root.Member("version"), fmt.Sprintf("%q is no semantic version", version),
			"write three numbers, such as 1.0.0"))
	}
	return out
}

// installMissing reports a Feature without its program.
func installMissing(v *view) []finding {
	if v.Tree == nil || v.Tree.Kind(path.Join(v.Dir, "install.sh")) == File {
		return nil
	}
	return []finding{v.atMissing(nil, "there is no install.sh next to it", "the Feature's work is done by install.sh; it may be empty")}
}

// options returns the Template's options.
func (v *view) options() []jsonc.Member {
	if n := v.root.Member("options"); n != nil && n.Kind == jsonc.Object {
		return n.Members
	}
	return nil
}

// unusableOptions reports options that no file can use.
func unusableOptions(v *view) (out []finding) {
	for _, m := range v.options() {
		if !optionName.MatchString(m.Name) {
			out = append(out, v.atName(m, fmt.Sprintf("the option %q can be used nowhere", m.Name), "letters, digits and _ only"))
		}
	}
	return out
}

// rawDefaults reports defaults that are no text.
func rawDefaults(v *view) (out []finding) {
	for _, m := range v.options() {
		kind, _ := m.Value.Member("type").Str()
		if d := m.Value.Member("default"); d != nil && d.Kind == jsonc.Bool && kind != "string" {
			out = append(out, v.atValue(d, fmt.Sprintf("the default of %s is no text", m.Name), fmt.Sprintf("write %q", d.Text)))
		}
	}
	return out
}

// maxTemplateFiles bounds the walk over a Template's folder.
const maxTemplateFiles = 1000

// templateFiles returns the files of the Template; none where nothing is known
// around its metadata.
func (v *view) templateFiles() []string {
	if v.Tree == nil {
		return nil
	}
	return filesBelow(v.Tree, v.Dir, nil)
}

func filesBelow(tree Tree, dir string, found []string) []string {
	for _, name := range tree.List(dir) {
		full := path.Join(dir, name)
		switch tree.Kind(full) {
		case Folder:
			if name != ".git" && name != "node_modules" {
				found = filesBelow(tree, full, found)
			}
		case File:
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

func (v *view) optionUses() (out []optionUse) {
	for _, file := range v.templateFiles() {
		src, err := v.Tree.Read(file)
		if path.Base(file) == TemplateName || err != nil || !bytes.Contains(src, []byte("${templateOption:")) {
			continue
		}
		doc := jsonc.Text(v.quoted(strings.TrimPrefix(file, v.Dir+"/")), src)
		v.also(doc)
		for _, m := range anyOption.FindAllSubmatchIndex(src, -1) {
			out = append(out, optionUse{rights.Place{Doc: doc, Start: m[0], End: m[1]}, string(src[m[2]:m[3]])})
		}
	}
	return out
}

// meant returns the option that an unknown name is a slip for, or "".
func (v *view) meant(name string) string {
	var names []string
	for _, m := range v.options() {
		names = append(names, m.Name)
	}
	return diag.Suggest(name, names)
}

// undeclaredOptions reports options that a file uses and the Template lacks.
func undeclaredOptions(v *view) (out []finding) {
	for _, use := range v.optionUses() {
		if v.root.Member("options").Member(use.name) != nil {
			continue
		}
		hint := "declare it in devcontainer-template.json"
		if best := v.meant(use.name); best != "" {
			hint = fmt.Sprintf("did you mean %q?", best)
		}
		out = append(out, finding{Place: use.Place, message: fmt.Sprintf("there is no option %q", use.name), hint: hint})
	}
	return out
}

// unusedOptions reports options that no file uses, not even by a slip.
func unusedOptions(v *view) (out []finding) {
	if v.Tree == nil {
		return nil
	}
	used := map[string]bool{}
	for _, use := range v.optionUses() {
		used[use.name] = true
		if v.root.Member("options").Member(use.name) == nil {
			used[v.meant(use.name)] = true
		}
	}
	for _, m := range v.options() {
		if !used[m.Name] {
			out = append(out, v.atName(m, fmt.Sprintf("no file uses the option %q", m.Name), "use it, or remove it"))
		}
	}
	return out
}

// describing are the files of a Template that the reference CLI never applies.
var describing = []string{TemplateName, "README.md", "NOTES.md"}

// idlePaths reports optional paths that are never written.
func idlePaths(v *view) (out []finding) {
	if v.Tree == nil {
		return nil
	}
	files := v.templateFiles()
	for _, n := range rights.Texts(v.root.Member("optionalPaths")) {
		name, below := strings.CutSuffix(n.Text, "/*")
		full := path.Join(v.Dir, name)
		switch {
		case slices.Contains(describing, n.Text):
			out = append(out, v.atValue(n, n.Text+" is never applied", "remove it from the list"))
		case !slices.ContainsFunc(files, func(f string) bool { return f == full || below && strings.HasPrefix(f, full+"/") }):
			out = append(out, v.atValue(n, n.Text+" names no file of the Template", `write a file, or a folder as "FOLDER/*"`))
		}
	}
	return out
}

// rendering is the Template's configuration with one choice of options.
type rendering struct {
	name string      // of the file
	at   *jsonc.Node // what chooses
	how  string      // "with the defaults"
	*Project
}

// renderings returns it with the defaults and with each listed value of each
// option; none for a Template with other errors.
func (v *view) renderings() (out []rendering) {
	if v.Tree == nil || len(v.syntax)+len(v.mismatches)+len(unusableOptions(v))+len(rawDefaults(v))+len(undeclaredOptions(v)) > 0 {
		return nil
	}
	defaults := map[string]string{}
	for _, m := range v.options() {
		defaults[m.Name] = m.Value.Member("default").TextOr("")
	}
	for _, name := range places(v.Tree, v.Dir) {
		src, err := v.Tree.Read(name)
		if err != nil || Parse(name, src).object() == nil {
			continue // a broken file is judged as such
		}
		add := func(at *jsonc.Node, how string, choice map[string]string) {
			text := templateOption.ReplaceAllStringFunc(string(src), func(s string) string { return choice[templateOption.FindStringSubmatch(s)[1]] })
			out = append(out, rendering{path.Base(name), at, how, Parse(name, []byte(text))})
		}
		add(v.root.Member("id"), "with the defaults", defaults)
		for _, m := range v.options() {
			for _, n := range append(rights.Texts(m.Value.Member("enum")), rights.Texts(m.Value.Member("proposals"))...) {
				if n.Text != defaults[m.Name] {
					choice := maps.Clone(defaults)
					choice[m.Name] = n.Text
					add(n, fmt.Sprintf("with %s = %q", m.Name, n.Text), choice)
				}
			}
		}
	}
	return out
}

// brokenRenderings reports values that break the file.
func brokenRenderings(v *view) (out []finding) {
	for _, r := range v.renderings() {
		if r.object() == nil {
			out = append(out, v.atValue(r.at, fmt.Sprintf("%s %s is not well formed", r.name, r.how),
				"values are put in as they are: no quotes, backslashes or line breaks"))
		}
	}
	return out
}

// wellFormed are the rules about whether a configuration is valid.
var wellFormed = sync.OnceValue(func() map[string]*Rule { return index(syntaxRules, schemaRules, referenceRules) })

// invalidRenderings reports choices that make a configuration which is not valid.
func invalidRenderings(v *view) (out []finding) {
	for _, r := range v.renderings() {
		if r.object() == nil {
			continue
		}
		for _, f := range newPass(newView(r.Project), wellFormed()).findings() {
			if f.Severity == diag.SeverityError {
				out = append(out, v.atValue(r.at, fmt.Sprintf("%s %s: %s [%s]", r.name, r.how, f.Message, f.Rule), f.Hint))
				if r.at == v.root.Member("id") {
					return out // no choice makes it better
				}
				break
			}
		}
	}
	return out
}
