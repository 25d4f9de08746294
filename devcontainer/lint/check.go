package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/schema"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Check judges a project: every rule of the table. Findings are sorted by
// file and position. A configuration that is not well formed gets one finding,
// and the files around it are still looked at.
func Check(p *devcontainer.Project) []diag.Finding {
	return newPass(rule.NewView(p), table()).findings()
}

// Find returns what single rules find, whatever a comment excuses.
func Find(p *devcontainer.Project, ids ...string) []diag.Finding {
	c := newPass(rule.NewView(p), table())
	for _, id := range ids {
		c.apply(c.table.of[id])
	}
	return c.sorted()
}

// findings returns what the rules of a pass find and no comment excuses.
func (c *pass) findings() []diag.Finding {
	c.run()
	c.suppress()
	return c.sorted()
}

func (c *pass) sorted() []diag.Finding {
	findings := make([]diag.Finding, 0, len(c.reports))
	for _, r := range c.reports {
		findings = append(findings, r.Finding)
	}
	diag.Sort(findings)
	return findings
}

// pass is one walk over the table, which collects what the rules find.
type pass struct {
	*rule.View
	table   ruleTable
	subject rule.Subject            // what kind of file is judged
	held    func(id string) bool    // what no comment excuses; nil = nothing more than in any project
	lessens func(diag.Finding) bool // what is not shown as what it is; nil = nothing
	reports []report
	ignores map[*jsonc.Document][]*suppression // comments that were found
	said    map[diag.Finding]bool              // one mistake is one report
	// Values that are wrong in themselves: rules about their consequences wait.
	mistyped map[[2]string]bool // files and pointers
	broken   map[string]bool    // top-level properties of the configuration
}

// report is a finding and, where a machine can correct it safely, how.
type report struct {
	diag.Finding
	edits []jsonc.Edit // of the configuration; made whole or not at all
	offer rule.Offer   // made only when a person wants it
}

func newPass(v *rule.View, table ruleTable) *pass {
	return &pass{View: v, table: table, reports: make([]report, 0, 8), subject: subjects[v.Kind()], said: map[diag.Finding]bool{},
		mistyped: map[[2]string]bool{}, broken: map[string]bool{}, ignores: map[*jsonc.Document][]*suppression{}}
}

// run applies the rules in the order of their phases and numbers. If no tool
// reads the file, it says only that.
func (c *pass) run() {
	if isShadowed(c.View) {
		c.apply(c.table.of["SBX315"])
		return
	}
	for _, rules := range c.table.phases {
		for _, r := range rules {
			c.apply(r)
		}
		c.noteSpoiled()
	}
	c.addUnset()
	c.addRendered()
	c.addLocalFeatures()
}

// addUnset adds what the organisation's policy, and the rules about rights that it holds, find where the host sets none of the variables
// that the files name, and not in what is written.
func (c *pass) addUnset() {
	if c.Org == nil {
		return
	}
	p := c.Unset()
	if p == nil {
		return
	}
	next := newPass(rule.NewView(p), c.table)
	for _, rules := range c.table.phases {
		for _, r := range rules {
			if r.OfPolicy || r.ID[3] == '4' && c.holds(r.ID) {
				next.apply(r)
			}
		}
	}
	for _, r := range next.reports {
		f := r.Finding
		if !slices.ContainsFunc(c.reports, func(r report) bool { return r.Rule == f.Rule && r.File == f.File && r.Line == f.Line }) {
			f.Message += ", where the host does not set the variables"
			c.add(f, nil)
		}
	}
	for _, doc := range p.Documents() {
		c.Also(doc)
	}
}

// phase orders the rules: first those that find values which are wrong in
// themselves, then those that judge what is right.
func phase(r *rule.Rule) int {
	switch {
	case r.Last:
		return 3
	case r.Spoils == rule.Mistyped:
		return 0
	case r.Spoils != rule.Nothing:
		return 1
	}
	return 2
}

// isAbout reports whether a rule's check looks at a project's kind of file.
func (c *pass) isAbout(r *rule.Rule) bool {
	about := cmp.Or(r.About, rule.Configurations)
	switch {
	case r.Check == nil || c.Root == nil || r.OfServices && c.LacksCompose():
		return false
	case c.Bare: // a Dockerfile may be all that there is
		return r.ID[3] == '7' || about&rule.Dockerfiles != 0
	}
	return about&c.subject != 0
}

// subjects are the kinds of files as rules name them.
var subjects = map[devcontainer.FileKind]rule.Subject{devcontainer.ConfigFile: rule.Configurations, devcontainer.FeatureFile: rule.Features,
	devcontainer.TemplateFile: rule.Templates}

// apply reports what was found of a rule while the files were read, and what its
// check finds.
func (c *pass) apply(r *rule.Rule) {
	for _, f := range c.Syntax {
		if f.Rule == r.ID {
			c.add(f, nil)
		}
	}
	for _, m := range c.Mismatches {
		if m.Rule == r.ID {
			c.report(r, rule.Finding{Place: m.Place, Message: m.Message, Hint: m.Hint, Edits: m.Edits,
				Offer: rule.Offer{Edits: m.Offer}})
		}
	}
	if c.isAbout(r) {
		for _, f := range r.Check(c.View) {
			c.report(r, f)
		}
	}
}

// report adds a finding of a rule, unless it follows from a value that is wrong
// in itself.
func (c *pass) report(r *rule.Rule, f rule.Finding) {
	severity := r.Severity
	if f.Severity != "" {
		severity = f.Severity
	}
	c.Also(f.Doc)
	follows := r.Spoils != rule.Mistyped && f.Pointer != "" && c.mistyped[[2]string{f.Doc.File, f.Pointer}]
	if follows || f.Doc == c.Config && c.restsOnBroken(r) || c.isRefused(f) {
		return
	}
	added := c.add(f.Doc.Finding(f.Start, f.End, diag.Finding{Rule: r.ID, Severity: severity, Pointer: f.Pointer, Message: f.Message,
		Hint: f.Hint}), f.Edits)
	if added != nil {
		added.offer = f.Offer
	}
}

// add adds a report and returns it, unless it is there: services of Compose share values.
func (c *pass) add(f diag.Finding, edits []jsonc.Edit) *report {
	if c.said[f] {
		return nil
	}
	c.said[f] = true
	c.reports = append(c.reports, report{Finding: f, edits: edits})
	return &c.reports[len(c.reports)-1]
}

// restsOnBroken reports whether a rule's promise rests on a property with
// something wrong in it. Without a source nothing is known of any promise.
func (c *pass) restsOnBroken(r *rule.Rule) bool {
	return r.RestsOn != nil && slices.ContainsFunc(slices.Concat(r.RestsOn, schema.Sources), func(name string) bool { return c.broken[name] })
}

// noteSpoiled notes which values are wrong in themselves, by the reports so far
// that no comment excuses.
func (c *pass) noteSpoiled() {
	for _, r := range c.reports {
		spoils := c.table.of[r.Rule].Spoils
		if spoils == rule.Nothing {
			continue
		}
		if c.isExcused(r.Finding) {
			continue
		}
		if spoils == rule.Mistyped && !isTextMount(c.View, r.Finding) {
			c.mistyped[[2]string{r.File, r.Pointer}] = true
		}
		if r.File != c.Config.File {
			continue
		}
		top, rest, below := strings.Cut(strings.TrimPrefix(r.Pointer, "/"), "/")
		switch {
		case spoils == rule.Mistyped, spoils == rule.Malformed && below && rest != "":
			c.broken[top] = true
		case spoils == rule.Misspelt && !below:
			c.broken[schema.Known(top)] = true
		}
	}
}

// isExcused reports whether a comment or a choice of rules sees to it that people do not see a finding as what it is.
func (c *pass) isExcused(f diag.Finding) bool {
	excused, _ := c.suppressions()
	return c.covered(excused, f) || c.lessens != nil && c.lessens(f)
}

// isRefused reports whether a finding is one of what the engine refuses to do, as another one on its lines says.
func (c *pass) isRefused(f rule.Finding) bool {
	if len(f.Unless) == 0 {
		return false
	}
	at := f.Doc.Finding(f.Start, f.End, diag.Finding{})
	return slices.ContainsFunc(c.reports, func(r report) bool {
		here := r.File == at.File && r.Line <= at.EndLine && at.Line <= r.EndLine
		return here && slices.Contains(f.Unless, r.Rule) && !c.isExcused(r.Finding)
	})
}

// isTextMount reports whether a finding is about a mount of a Feature that is written as a text.
// The specification has objects alone; the reference CLI takes both, so that it is judged.
func isTextMount(v *rule.View, f diag.Finding) bool {
	return v.Kind() == devcontainer.FeatureFile && strings.HasPrefix(f.Pointer, "/mounts/") && v.Root.Find(f.Pointer) != nil &&
		v.Root.Find(f.Pointer).Kind == jsonc.String
}

// maxCandidates bounds the names of somebody's file that a name is compared with: many names times many are too much.
const maxCandidates = 200

// nearest is diag.Suggest among the first names of a file.
func nearest(word string, known []string) string {
	return diag.Suggest(word, known[:min(len(known), maxCandidates)])
}
