package lint

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/effective"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// maxComparisons bounds how many corrections are judged by their effect. Each reads the project again.
const maxComparisons = 100

// maxAround is how many bytes of files are read again for each comparison.
const maxAround = 256 << 10

// Left is a correction that Fix does not make: for what it costs, or, where it names no costs,
// because there were more than maxComparisons corrections.
type Left struct {
	diag.Finding
	Costs
}

// Costs are what a correction does besides correcting its finding.
type Costs struct {
	Also     []string       // the properties that change besides those that it is about
	Comments int            // that it takes out
	Brings   []diag.Finding // errors that were not there
}

// Text says what a correction would do besides, such as "take out a comment"; "" when that is nothing.
func (c Costs) Text() string {
	var parts []string
	if len(c.Also) > 0 {
		parts = append(parts, "also change "+strings.Join(c.Also, ", "))
	}
	switch {
	case c.Comments == 1:
		parts = append(parts, "take out a comment")
	case c.Comments > 1:
		parts = append(parts, fmt.Sprintf("take out %d comments", c.Comments))
	}
	if len(c.Brings) > 0 {
		parts = append(parts, fmt.Sprintf("lead to an error: %s [%s]", c.Brings[0].Message, c.Brings[0].Rule))
	}
	return strings.Join(parts, "; and ")
}

// comparer finds what corrections of a project do besides correcting their findings.
type comparer struct {
	table   ruleTable
	choose  Choose // whose errors count; nil = all
	left    int    // comparisons that may still be made
	checks  int    // of corrections by themselves for new errors that may still be made
	project *devcontainer.Project
	before  func() effective.Meaning // of project
	errors  func() []diag.Finding    // of project
}

func newComparer(table ruleTable, p *devcontainer.Project, choose Choose) *comparer {
	x := &comparer{table: table, choose: choose, left: maxComparisons, checks: maxComparisons}
	x.at(p)
	return x
}

// at goes on with the project as it is by now.
func (x *comparer) at(p *devcontainer.Project) {
	x.project = p
	x.before = sync.OnceValue(func() effective.Meaning { return effective.MeaningOf(x.version(p.Config.Src)) })
	x.errors = sync.OnceValue(func() []diag.Finding { return x.errorsOf(x.version(p.Config.Src)) })
}

// version is the project with another text of its configuration: the configuration alone where the
// files around it, which no correction changes, are so large that reading them for each takes long.
func (x *comparer) version(src []byte) *devcontainer.Project {
	size := 0
	for _, doc := range x.project.Documents() {
		size += len(doc.Src)
	}
	if size > maxAround {
		return devcontainer.Parse(x.project.Config.File, src)
	}
	return x.project.With(src)
}

// also lists the properties that edits change though no correction of these reports is about them.
// known is false when no comparison is left. A text that did not parse meant nothing, so that
// nothing can be compared with it.
func (x *comparer) also(edits []jsonc.Edit, of ...report) (also []string, known bool) {
	if x.project.Config.Root == nil {
		return nil, true
	}
	if x.left--; x.left < 0 {
		return nil, false
	}
	after, _ := jsonc.Apply(x.project.Config.Src, edits)
	for _, name := range x.before().Changed(effective.MeaningOf(x.version(after))) {
		if !slices.ContainsFunc(of, func(r report) bool { return r.isAbout(x.table.of[r.Rule], name) }) {
			also = append(also, name)
		}
	}
	return also, true
}

// errorsOf returns a project's findings that are errors to whoever chooses.
func (x *comparer) errorsOf(p *devcontainer.Project) (out []diag.Finding) {
	c := newPass(rule.NewView(p), x.table)
	for _, f := range c.findings() {
		shown := true
		if x.choose != nil {
			f, shown = x.choose(f, true)
		}
		if shown && f.Severity == diag.SeverityError {
			out = append(out, f)
		}
	}
	return out
}

// newErrors are the errors of another text that this one has not. An error that says something
// else by now, such as the place of a value that has moved, is not new.
func (x *comparer) newErrors(src []byte) (out []diag.Finding) {
	if x.project.Config.Root == nil {
		return nil // its values were not judged
	}
	type saying struct{ rule, message string }
	more, said := map[string]int{}, map[saying]bool{}
	for _, f := range x.errors() {
		more[f.Rule]--
		said[saying{f.Rule, f.Message}] = true
	}
	found := x.errorsOf(x.version(src))
	for _, f := range found {
		more[f.Rule]++
	}
	for _, f := range found {
		if more[f.Rule] > 0 && !said[saying{f.Rule, f.Message}] {
			out = append(out, f)
		}
	}
	return out
}

// brings returns the new errors of each correction. Most bring none, and then one look at all of
// them together tells it. known is false for one that there was no time for.
func (x *comparer) brings(of []report) (errors [][]diag.Finding, known []bool) {
	errors, known = make([][]diag.Finding, len(of)), make([]bool, len(of))
	if len(of) == 0 {
		return errors, known
	}
	all, applied := jsonc.Apply(x.project.Config.Src, editsOf(of)...)
	together := x.newErrors(all)
	for i, r := range of {
		switch {
		case len(together) == 0 && applied[i], x.saysTheSame(r.edits):
			known[i] = true
		case x.checks > 0:
			x.checks--
			src, _ := jsonc.Apply(x.project.Config.Src, r.edits)
			errors[i], known[i] = x.newErrors(src), true
		}
	}
	return errors, known
}

// saysTheSame reports whether edits take the quotes from "true", which every tool takes as true: an
// error that is found only then was there.
func (x *comparer) saysTheSame(edits []jsonc.Edit) bool {
	return len(edits) == 1 && edits[0].Text == "true" && string(x.project.Config.Src[edits[0].Start:edits[0].End]) == `"true"`
}

// lost counts the comments that edits take out, but for that which the report is about.
func (x *comparer) lost(edits []jsonc.Edit, r report) (n int) {
	for _, c := range x.project.Config.Lost(edits) {
		at := x.project.Config.Offset(r.Line, r.Column)
		if at < c.Start || at >= c.End {
			n++
		}
	}
	return n
}

// costs works out what corrections do besides; known is false for those that were too many.
func (x *comparer) costs(of []report) (costs []Costs, known []bool) {
	costs = make([]Costs, len(of))
	errors, known := x.brings(of)
	for i, r := range of {
		also, compared := x.also(r.edits, r)
		costs[i] = Costs{also, x.lost(r.edits, r), errors[i]}
		known[i] = known[i] && compared
	}
	return costs, known
}

// sound splits corrections into those that do what they are about and nothing else, and the others.
func (x *comparer) sound(wanted []report) (sound []report, left []Left) {
	costs, known := x.costs(wanted)
	for i, r := range wanted {
		if known[i] && costs[i].Text() == "" {
			sound = append(sound, r)
		} else {
			left = append(left, Left{r.Finding, costs[i]})
		}
	}
	return sound, left
}

// separators are what names of properties are misspelt with.
var separators = strings.NewReplacer("_", "", "-", "")

// isAbout reports whether a report's correction is meant to change a property: that of the finding,
// which merged hooks have in the plural, or one of those that the rule names.
func (r report) isAbout(of *rule.Rule, name string) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(r.Pointer, "/"), "/")
	top, name = separators.Replace(top), separators.Replace(name)
	return strings.EqualFold(top, name) || strings.EqualFold(top+"s", name) || slices.Contains(of.Corrects, name)
}
