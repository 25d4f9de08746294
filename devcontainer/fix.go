package devcontainer

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/schema"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// maxRounds bounds how often Fix looks again at what it has written. Each
// round corrects what stood too close to another place of the round before.
const maxRounds = 20

// Fix corrects what can be corrected safely in the project's devcontainer.json and
// returns its new text and the findings that are gone. Comments, order, layout,
// line ends and a byte order mark stay, and so does the meaning of everything
// that no finding was about. The text is the old one when there is nothing to
// do; fixing it again changes nothing. rules, unless empty, limits the rules.
// Notes are advice: they are followed only when rules names theirs.
func Fix(p *Project, rules []string) (src []byte, fixed []diag.Finding) {
	original := p.Config.Src
	src = original
	for range maxRounds {
		c := newPass(newView(p), table())
		c.run()
		c.suppress()
		c.syntaxFixes()
		var groups [][]jsonc.Edit
		var of []diag.Finding
		for _, r := range c.reports {
			if len(r.edits) > 0 && r.asked(rules) {
				groups, of = append(groups, r.edits), append(of, r.Finding)
			}
		}
		out, applied := jsonc.Apply(src, groups...)
		if bytes.Equal(out, src) {
			break
		}
		next := p.with(out)
		if next.Config.Root == nil && p.Config.Root != nil {
			break
		}
		for i, ok := range applied {
			if ok {
				fixed = append(fixed, of[i])
			}
		}
		src, p = out, next
	}
	if p.Config.Root == nil {
		return original, nil // names were quoted, and something else is broken
	}
	return src, fixed
}

// asked reports whether Fix is to follow a report, for the rules that it is
// limited to.
func (r report) asked(rules []string) bool {
	if len(rules) == 0 {
		return r.Severity != diag.SeverityNote
	}
	return slices.Contains(rules, r.Rule)
}

// unquotedName is a name as JavaScript would take it.
var unquotedName = regexp.MustCompile(`^([A-Za-z_$][A-Za-z0-9_$]*)[ \t]*:`)

// syntaxFixes attaches edits to findings that the parser reported.
func (c *pass) syntaxFixes() {
	for i := range c.reports {
		r := &c.reports[i]
		if r.File != c.Config.File {
			continue
		}
		switch r.Rule {
		case jsonc.RuleTrailingComma:
			at := c.Config.Offset(r.Line, r.Column)
			r.edits = []jsonc.Edit{{Start: at, End: at + 1}}
		case jsonc.RuleSyntax:
			if m := unquotedName.FindSubmatch(c.Config.Src[c.Config.Offset(r.Line, r.Column):]); m != nil && !slices.Contains(schema.Opening, string(m[1])) {
				at := c.Config.Offset(r.Line, r.Column)
				r.edits = []jsonc.Edit{{Start: at, End: at + len(m[1]), Text: jsonc.Quote(string(m[1]))}}
			}
		}
	}
}

// with is the project with another text of its configuration.
func (p *Project) with(src []byte) *Project {
	if p.Tree == nil {
		next := Parse(p.Config.File, src)
		next.Org = p.Org
		return next
	}
	name := path.Join(p.Dir, p.name)
	next, err := Load(overlay{p.Tree, name, src}, name, p.Config.File)
	if err != nil { // the overlay has the file
		panic("devcontainer: " + err.Error())
	}
	next.Org = p.Org
	return next
}

// overlay is a Tree in which one file has another text.
type overlay struct {
	Tree
	name string
	src  []byte
}

func (o overlay) Read(name string) ([]byte, error) {
	if name == o.name {
		return o.src, nil
	}
	return o.Tree.Read(name)
}

// setting gives a property of the configuration a value, which is JSON.
func (c *view) setting(name, value string) []jsonc.Edit {
	if n := c.root.Member(name); n != nil {
		return jsonc.Replace(n, value)
	}
	return c.Config.AddMember(c.root, name, value)
}

// listing adds texts to a list of the configuration.
func (c *view) listing(name string, values ...string) []jsonc.Edit {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = jsonc.Quote(v)
	}
	n := c.root.Member(name)
	switch {
	case n == nil && len(values) == 1:
		return c.Config.AddMember(c.root, name, "["+quoted[0]+"]")
	case n == nil:
		return c.Config.AddMember(c.root, name, "[\n  "+strings.Join(quoted, ",\n  ")+"\n]")
	case n.Kind == jsonc.Array:
		return c.Config.AddElement(n, strings.Join(quoted, ",\n"))
	}
	return nil
}
