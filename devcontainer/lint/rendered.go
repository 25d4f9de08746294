package lint

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// renderedTree is what the reference CLI writes of a Template into an empty project: its files with
// one choice of options filled in.
type renderedTree struct {
	under  devcontainer.Tree
	dir    string // of the Template
	choice map[string]string
	moved  map[string][]movement // by file
}

// movement is an option in the Template's file and the value in its place.
type movement struct{ start, end, from, to int } // in the rendered text, in the Template's

func (t *renderedTree) Read(name string) ([]byte, error) {
	src, err := t.under.Read(path.Join(t.dir, name))
	if err != nil || len(src) > jsonc.MaxSize {
		return src, err
	}
	var out []byte
	var moved []movement
	last := 0
	for _, m := range templateOption.FindAllSubmatchIndex(src, -1) {
		value := t.choice[string(src[m[2]:m[3]])]
		out = append(append(out, src[last:m[0]]...), value...)
		moved = append(moved, movement{len(out) - len(value), len(out), m[0], m[1]})
		if last = m[1]; len(out) > jsonc.MaxSize {
			break // as any file that is too large
		}
	}
	t.moved[name] = moved
	return append(out, src[last:]...), nil
}

func (t *renderedTree) Kind(name string) devcontainer.Kind {
	if name == "." {
		return devcontainer.Folder
	}
	return t.under.Kind(path.Join(t.dir, name))
}
func (t *renderedTree) List(dir string) []string { return t.under.List(path.Join(t.dir, dir)) }

// original returns where bytes of a rendered file stand in the Template's.
func (t *renderedTree) original(name string, start, end int) (from, to int) {
	return originalOffset(t.moved[name], start, false), originalOffset(t.moved[name], end, true)
}

func originalOffset(moved []movement, at int, end bool) int {
	shift := 0
	for _, m := range moved {
		switch {
		case at < m.start || end && at == m.start:
			return at + shift
		case end && at <= m.end:
			return m.to
		case !end && at < m.end:
			return m.from
		}
		shift = m.to - m.end
	}
	return at + shift
}

// Each choice of a Template is judged as a configuration: at most maxRenderings of them, and as many as have maxRendered bytes in
// their files: in memory a file takes some hundred times its size.
const (
	maxRenderings = 200
	maxRendered   = 1 << 20
)

// notInTemplates are rules about what a Template cannot have: a lock, and files of the project
// that it will be applied to.
var notInTemplates = []string{"SBX315", "SBX605", "SBX610"}

// addRendered reports what the rules find in the configurations that a Template makes, at their
// place in its files. A finding that only some choice of options brings says which.
func (c *pass) addRendered() {
	if c.Kind() != devcontainer.TemplateFile || c.Root == nil {
		return
	}
	said := map[[3]any]bool{}
	if n := c.Root.Member("options"); n != nil && allRenderings(c.View).cut {
		c.add(c.Config.Finding(n.Start, n.Start+1, diag.Finding{Rule: "SBX109", Severity: diag.SeverityWarning, Pointer: n.Pointer,
			Message: fmt.Sprintf("only %d choices of these options are checked, because their files are long or the choices many",
				len(renderings(c.View))), Hint: "shorten the lists or the files; nothing is known about the rest"}), nil)
	}
	for _, r := range renderings(c.View) {
		isDefault := r.at == c.Root.Member("id")
		if r.Object() == nil && (!isDefault || r.whole) {
			continue // SBX908
		}
		for _, doc := range r.Documents() {
			if name, err := filepath.Rel(c.Quoted("."), doc.File); err == nil && isDefault {
				if src, err := c.Tree.Read(path.Join(c.Dir, filepath.ToSlash(name))); err == nil {
					c.Also(templateDocument(doc.File, src)) // its comments may excuse something
				}
			}
		}
		for _, f := range judged(r, c.table, c.lessens) {
			name, doc, start, end := r.place(c.View, f)
			key := [3]any{f.Rule, name, start}
			if said[key] || !isDefault && (f.Severity == diag.SeverityNote || wellFormed().of[f.Rule] != nil && f.Severity == diag.SeverityError) {
				continue // SBX907 names the choice that is not valid
			}
			said[key] = true
			if !isDefault {
				f.Message = r.how + ": " + f.Message
			}
			c.Also(doc)
			f.Pointer = ""
			c.add(doc.Finding(start, end, f), nil)
		}
	}
}

// judged returns what the rules find in a rendering that is also true in the project which gets it.
func judged(r rendering, rules ruleTable, lessens func(diag.Finding) bool) []diag.Finding {
	c := newPass(rule.NewView(r.Project), rules)
	c.lessens = lessens
	c.run()
	found := c.sorted()
	for i, f := range found {
		if slices.Contains([]string{"SBX311", "SBX318", "SBX729"}, f.Rule) {
			found[i].Severity = diag.SeverityWarning // the project may have it
		}
	}
	return slices.DeleteFunc(found, func(f diag.Finding) bool {
		switch {
		case slices.Contains(notInTemplates, f.Rule):
			return true
		case f.Rule == "SBX311" || f.Rule == "SBX318": // the project may have what lies outside of the Template's own folder
			named := path.Join(r.Dir, r.Object().Find(f.Pointer).TextOr(""))
			return !strings.HasPrefix(named, ".devcontainer/") && !strings.Contains(f.Message, ".devcontainer/")
		case f.Rule == "SBX729" || f.Rule == "SBX742":
			return r.Context() != r.Dir
		}
		return false
	})
}

// place returns a finding's place in the Template's own file.
func (r rendering) place(v *rule.View, f diag.Finding) (name string, doc *jsonc.Document, start, end int) {
	name, err := filepath.Rel(v.Quoted("."), f.File)
	name = filepath.ToSlash(name)
	docs := rule.Once(v, "files of the Template", func(*rule.View) map[string]*jsonc.Document { return map[string]*jsonc.Document{} })
	if docs[name] == nil {
		if src, err := v.Tree.Read(path.Join(v.Dir, name)); err == nil {
			docs[name] = templateDocument(f.File, src)
		}
	}
	at := slices.IndexFunc(r.Documents(), func(d *jsonc.Document) bool { return d.File == f.File })
	if err != nil || docs[name] == nil || at < 0 {
		return name, v.Config, v.Root.Start, v.Root.Start + 1
	}
	shown := r.Documents()[at]
	start, end = shown.Offset(f.Line, f.Column), shown.Offset(f.EndLine, f.EndColumn)
	start, end = r.tree.original(name, start, end)
	return name, docs[name], start, end
}

// templateDocument is a file of a Template with its comments, where it can be read as it is.
func templateDocument(file string, src []byte) *jsonc.Document {
	if strings.HasSuffix(file, ".json") || strings.HasSuffix(file, ".jsonc") {
		if doc, _ := jsonc.Parse(file, src); doc != nil {
			return doc
		}
	}
	return jsonc.Text(file, src)
}
