package lint

import (
	"bytes"
	"slices"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/schema"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// maxRounds bounds how often Fix looks again at what it has written. Each
// round corrects what stood too close to another place of the round before.
const maxRounds = 20

// Fix corrects what can be corrected safely in the project's devcontainer.json and
// returns its new text, the findings that are gone and the corrections that it leaves out. Comments,
// order, layout, line ends and a byte order mark stay, and so does the meaning of everything
// that no finding was about: what the configuration amounts to is worked out before and after each
// correction, and one that changes another property, takes out a comment or brings an error that was
// not there is not made. The text is the old one when there
// is nothing to do; fixing it again changes nothing. rules, unless empty, limits the rules.
// Notes are advice: they are followed only when rules names theirs. A place that choose does
// not report is left as it is; nil = all is reported.
func Fix(p *devcontainer.Project, rules []string, choose Choose) (src []byte, fixed []diag.Finding, left []Left) {
	return fixWith(table(), p, rules, choose)
}

func fixWith(table ruleTable, p *devcontainer.Project, rules []string, choose Choose) (
	src []byte, fixed []diag.Finding, left []Left) {
	original := p.Config.Src
	src = original
	x := newComparer(table, p, choose)
	for range maxRounds {
		x.at(p)
		c := newPass(rule.NewView(p), table)
		c.run()
		c.suppress()
		c.syntaxFixes()
		var sound []report
		sound, left = x.sound(c.corrections(rules, choose))
		out, made := x.applied(sound)
		if bytes.Equal(out, src) {
			break
		}
		next := p.With(out)
		if next.Config.Root == nil && p.Config.Root != nil {
			break
		}
		src, p, fixed = out, next, append(fixed, made...)
	}
	if p.Config.Root == nil {
		return original, nil, nil // names were quoted, and something else is broken
	}
	return src, fixed, left
}

// corrections are the reports that can be corrected and that somebody wants to be.
func (c *pass) corrections(rules []string, choose Choose) (out []report) {
	for _, r := range c.reports {
		chosen := true
		if choose != nil {
			_, chosen = choose(r.Finding, true)
		}
		if len(r.edits) > 0 && chosen && r.asked(rules) {
			out = append(out, r)
		}
	}
	return out
}

// applied makes corrections that are sound, each by itself, and says of which findings: all at once,
// but for those that stand too close to another, or the first one where together they change more.
func (x *comparer) applied(sound []report) (out []byte, made []diag.Finding) {
	out, applied := jsonc.Apply(x.project.Config.Src, editsOf(sound)...)
	var of []report
	for i, ok := range applied {
		if ok {
			of, made = append(of, sound[i]), append(made, sound[i].Finding)
		}
	}
	if len(of) < 2 {
		return out, made
	}
	if also, known := x.also(slices.Concat(editsOf(of)...), of...); !known || len(also) > 0 || len(x.newErrors(out)) > 0 {
		return x.applied(of[:1])
	}
	return out, made
}

func editsOf(reports []report) (out [][]jsonc.Edit) {
	for _, r := range reports {
		out = append(out, r.edits)
	}
	return out
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
var unquotedName = lazyregexp.New(`^([A-Za-z_$][A-Za-z0-9_$]*)[ \t]*:`)

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
			at := c.Config.Offset(r.Line, r.Column)
			m := unquotedName.FindSubmatch(c.Config.Src[at:])
			if m == nil {
				continue
			}
			edits := []jsonc.Edit{{Start: at, End: at + len(m[1]), Text: jsonc.Quote(string(m[1]))}}
			if slices.Contains(schema.Opening, string(m[1])) {
				r.offer.Edits = edits
			} else {
				r.edits = edits
			}
		}
	}
}
