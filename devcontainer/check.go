package devcontainer

import (
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/schema"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Check judges a project: every rule of the table. Findings are sorted by
// file and position. A configuration that is not well formed gets one finding,
// and the files around it are still looked at.
func Check(p *Project) []diag.Finding {
	return newPass(newView(p), table()).findings()
}

// findings returns what the rules of a pass find and no comment excuses.
func (c *pass) findings() []diag.Finding {
	c.run()
	c.suppress()
	findings := make([]diag.Finding, 0, len(c.reports))
	for _, r := range c.reports {
		findings = append(findings, r.Finding)
	}
	diag.Sort(findings)
	return findings
}

// pass is one walk over the table, which collects what the rules find.
type pass struct {
	*view
	table   map[string]*Rule
	reports []report
	said    map[diag.Finding]bool // one mistake is one report
	// What is wrong in itself: what follows from it is judged when it is corrected.
	mistyped map[[2]string]bool // files and pointers
	broken   map[string]bool    // top-level properties of the configuration
}

// report is a finding and, where a machine can correct it safely, how.
type report struct {
	diag.Finding
	edits []jsonc.Edit // of the configuration; made whole or not at all
}

func newPass(v *view, table map[string]*Rule) *pass {
	return &pass{view: v, table: table, said: map[diag.Finding]bool{}, mistyped: map[[2]string]bool{}, broken: map[string]bool{}}
}

// run applies the rules in the order of their phases and numbers.
func (c *pass) run() {
	var phases [4][]*Rule
	for _, r := range c.table {
		phases[r.phase()] = append(phases[r.phase()], r)
	}
	for _, rules := range phases {
		slices.SortFunc(rules, func(a, b *Rule) int { return strings.Compare(a.ID, b.ID) })
		for _, r := range rules {
			c.apply(r)
		}
		c.noteSpoiled()
	}
}

// phase orders the rules: first those that find values which are wrong in
// themselves, then those that judge what is right.
func (r *Rule) phase() int {
	switch {
	case r.last:
		return 3
	case r.spoils == mistyped:
		return 0
	case r.spoils != nothing:
		return 1
	}
	return 2
}

// isAbout reports whether a rule's check looks at a project's kind of file.
func (r *Rule) isAbout(v *view) bool {
	about := r.about
	if about == 0 {
		about = configurations
	}
	switch {
	case r.check == nil || v.root == nil:
		return false
	case v.Kind() == FeatureFile:
		return about&features != 0
	case v.Kind() == TemplateFile:
		return about&templates != 0
	case v.bare: // a Dockerfile may be all that there is
		return r.ID[3] == '7' || r.ID == "SBX501"
	}
	return about&configurations != 0
}

// apply reports what was found of a rule while the files were read, and what its
// check finds.
func (c *pass) apply(rule *Rule) {
	for _, f := range c.syntax {
		if f.Rule == rule.ID {
			c.add(f, nil)
		}
	}
	for _, m := range c.mismatches {
		if m.Rule == rule.ID {
			c.report(rule, finding{Place: m.Place, message: m.Message, hint: m.Hint, edits: m.Edits})
		}
	}
	if rule.isAbout(c.view) {
		for _, f := range rule.check(c.view) {
			c.report(rule, f)
		}
	}
}

// report adds a finding of a rule, unless it follows from a value that is wrong
// in itself.
func (c *pass) report(rule *Rule, f finding) {
	severity := rule.Severity
	if f.severity != "" {
		severity = f.severity
	}
	c.also(f.Doc)
	if rule.spoils != mistyped && f.Pointer != "" && c.mistyped[[2]string{f.Doc.File, f.Pointer}] || f.Doc == c.Config && c.restsOnBroken(rule) {
		return
	}
	c.add(f.Doc.Finding(f.Start, f.End, diag.Finding{Rule: rule.ID, Severity: severity, Pointer: f.Pointer, Message: f.message, Hint: f.hint}), f.edits)
}

// add adds a report, unless it is there: services of Compose share values.
func (c *pass) add(f diag.Finding, edits []jsonc.Edit) {
	if !c.said[f] {
		c.said[f] = true
		c.reports = append(c.reports, report{f, edits})
	}
}

// restsOnBroken reports whether a rule's promise rests on a property with
// something wrong in it. Without a source nothing is known of any promise.
func (c *pass) restsOnBroken(rule *Rule) bool {
	return rule.restsOn != nil && slices.ContainsFunc(slices.Concat(rule.restsOn, schema.Sources), func(name string) bool { return c.broken[name] })
}

// noteSpoiled notes which values are wrong in themselves, by the reports so far
// that no comment excuses.
func (c *pass) noteSpoiled() {
	excused, _ := c.suppressions()
	for _, r := range c.reports {
		if covered(excused, r.Finding) {
			continue
		}
		spoils := c.table[r.Rule].spoils
		if spoils == mistyped {
			c.mistyped[[2]string{r.File, r.Pointer}] = true
		}
		if r.File != c.Config.File {
			continue
		}
		top, rest, below := strings.Cut(strings.TrimPrefix(r.Pointer, "/"), "/")
		switch {
		case spoils == mistyped, spoils == malformed && below && rest != "":
			c.broken[top] = true
		case spoils == misspelt && !below:
			c.broken[schema.Known(top)] = true
		}
	}
}
