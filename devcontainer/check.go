package devcontainer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Check judges a project: every rule of the table. Findings are sorted by
// file and position. A configuration that is not well formed gets one finding,
// and the files around it are still looked at.
func Check(p *Project) []diag.Finding {
	c := newPass(p)
	c.run()
	c.suppress()
	c.once()
	return c.collected()
}

// once leaves of several findings about one mistake the one that says what is
// wrong with the text: a value of a wrong kind, a misspelt name. What follows
// from it, such as a promise of the sandbox that the property would have kept,
// is judged when it is corrected.
func (c *pass) once() {
	wrong := map[[2]string]bool{}
	broken := map[string]bool{} // top-level properties with something wrong in them
	place := func(r report) [2]string { return [2]string{r.File, r.Pointer} }
	for _, r := range c.reports {
		isMistyped := c.table[r.Rule].mistyped
		if isMistyped {
			wrong[place(r)] = true
		}
		if r.File != c.Config.File {
			continue
		}
		top, rest, below := strings.Cut(strings.TrimPrefix(r.Pointer, "/"), "/")
		switch {
		case isMistyped, below && rest != "" && slices.Contains([]string{"SBX204", "SBX310"}, r.Rule):
			broken[top] = true
		case r.Rule == "SBX201" && !below:
			broken[diag.Suggest(top, sortedKeys(everyKind))] = true
		}
	}
	if len(wrong) == 0 && len(broken) == 0 {
		return
	}
	c.reports = slices.DeleteFunc(c.reports, func(r report) bool {
		// Without a source nothing is known of what the promises rest on.
		rule := c.table[r.Rule]
		if rule.restsOn != nil && r.File == c.Config.File && slices.ContainsFunc(slices.Concat(rule.restsOn, sourceNames),
			func(name string) bool { return broken[name] }) {
			return true
		}
		return r.Pointer != "" && wrong[place(r)] && r.Rule[3] > '1' && !rule.mistyped
	})
}

// collected returns what was reported, sorted.
func (c *pass) collected() []diag.Finding {
	findings := make([]diag.Finding, 0, len(c.reports))
	for _, r := range c.reports {
		findings = append(findings, r.Finding)
	}
	diag.Sort(findings)
	return findings
}

// pass is one walk of all rules over a project, which collects their findings.
type pass struct {
	*view
	table        map[string]*Rule
	doc          *jsonc.Document // that at, name and missing report about: the configuration, but for within
	reports      []report
	said         map[sameFinding]bool // see report
	exposedPaths []string             // of a Compose service's workspace: what no volume covers, PATH or PATH:ro
	asked        map[programPlaceIn]bool
}

// report is a finding and, where a machine can correct it safely, how.
type report struct {
	diag.Finding
	edits []jsonc.Edit // of the configuration; made whole or not at all
}

// fix attaches the edits that correct what was just reported.
func (r *report) fix(edits []jsonc.Edit) { r.edits = edits }

// atMost lowers the severity of what was just reported, where its rule's is too much.
func (r *report) atMost(s diag.Severity) {
	if s == diag.SeverityNote {
		r.Severity = s
	}
}

func newPass(p *Project) *pass {
	c := &pass{view: newView(p), table: table(), doc: p.Config, said: map[sameFinding]bool{}}
	for _, f := range p.syntax {
		c.reports = append(c.reports, report{Finding: f})
	}
	return c
}

func (c *pass) run() {
	if c.root == nil {
		if n := c.Config.Root; n != nil {
			c.at(n, "SBX202", fmt.Sprintf("the file must be an object, not %s", n.Kind), "")
		}
		return
	}
	switch c.kind() {
	case featureFile:
		c.feature()
		return
	case templateFile:
		c.template()
		return
	}
	for _, f := range Families() {
		for i := range f.Rules {
			if rule := &f.Rules[i]; !c.bare || rule.ofDockerfile() {
				c.apply(rule)
			}
		}
	}
	c.unchecked()
}

// ofDockerfile reports whether a rule is about the Dockerfile, which may be all
// that there is.
func (r *Rule) ofDockerfile() bool { return r.ID[3] == '7' || r.ID == "SBX501" }

func (c *pass) apply(rule *Rule) {
	if rule.walk != nil {
		rule.walk(c)
	}
	if rule.check != nil {
		for _, found := range rule.check(c.view) {
			c.report(rule.ID, found)
		}
	}
}

// at reports a rule at a value.
func (c *pass) at(n *jsonc.Node, rule, message, hint string) *report {
	return c.in(c.doc, n.Start, n.End, n.Pointer, rule, message, hint)
}

// name reports a rule at a member's name.
func (c *pass) name(m jsonc.Member, rule, message, hint string) *report {
	return c.in(c.doc, m.NameStart, m.NameEnd, m.Value.Pointer, rule, message, hint)
}

// lacking is a finding that something is not there, at the value that should
// have it, or at the opening bracket of the configuration.
func (v *view) lacking(n *jsonc.Node, message, hint string) finding {
	if n == nil || n == v.root {
		return finding{Place: rights.Place{Doc: v.Config, Start: v.root.Start, End: v.root.Start + 1}, message: message, hint: hint}
	}
	return v.found(n, message, hint)
}

// found is a finding at a value of the configuration.
func (v *view) found(n *jsonc.Node, message, hint string) finding {
	return finding{Place: rights.Place{Doc: v.Config, Start: n.Start, End: n.End, Pointer: n.Pointer}, message: message, hint: hint}
}

// missing reports that something is not there, at the value that should have
// it, or at the opening bracket of the file.
func (c *pass) missing(n *jsonc.Node, rule, message, hint string) *report {
	if n == nil || n == c.doc.Root {
		start := c.doc.Root.Start
		return c.in(c.doc, start, start+1, "", rule, message, hint)
	}
	return c.at(n, rule, message, hint)
}

// in reports a rule at the bytes from start to end of any document of the
// project: the configuration, a Dockerfile, a Compose file, a lock.
func (c *pass) in(doc *jsonc.Document, start, end int, pointer, rule, message, hint string) *report {
	entry := c.table[rule]
	if entry == nil {
		panic("devcontainer: rule " + rule + " is not in the table")
	}
	f := doc.Finding(start, end, diag.Finding{Rule: rule, Severity: entry.Severity, Pointer: pointer, Message: message, Hint: hint})
	c.reports = append(c.reports, report{Finding: f})
	return &c.reports[len(c.reports)-1]
}

// within lets look report about another document.
func (c *pass) within(doc *jsonc.Document, look func()) {
	before := c.doc
	c.doc = doc
	look()
	c.doc = before
}

// texts is rights.Texts.
var texts = rights.Texts

// elements returns the elements of an array, or nothing.
func elements(n *jsonc.Node) []*jsonc.Node {
	if n == nil {
		return nil
	}
	return n.Elements
}
