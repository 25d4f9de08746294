package action

import (
	"errors"
	"fmt"
	"strings"

	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// Bounds of what is said about changed files and warnings. The agent decides how
// many there are, and GitHub shows ten annotations of a kind.
const (
	maxSummaryChanges  = 60   // rows of the table
	maxSummaryWarnings = 20   // warnings in the summary
	maxAnnotations     = 5    // warnings that become annotations
	maxWarning         = 1000 // characters of a warning
)

// changed is what a run changed, as the step shows it: without secrets.
type changed struct {
	headline  string
	rows      []changes.Row
	paths     []string
	protected []string // the first ones of paths: a person should look at them
	warnings  []string
}

// newChanged makes it of a report. clean takes secrets away.
func newChanged(report Report, clean func(string) string) changed {
	var c changed
	for _, w := range report.Warnings {
		c.warnings = append(c.warnings, NeutralLine(clean(w), maxWarning))
	}
	if report.Changes == nil {
		return c
	}
	c.headline = report.Changes.Headline()
	for _, row := range report.Changes.Rows() {
		row.Path, row.What, row.Note = clean(row.Path), clean(row.What), clean(row.Note)
		c.rows = append(c.rows, row)
	}
	for i, path := range report.Changes.Paths(maxChangedFiles) {
		c.paths = append(c.paths, clean(path))
		if report.Changes.Changes[i].Class != obeyed.None { // these are the first
			c.protected = c.paths
		}
	}
	return c
}

// maxChangedFiles bounds the output changed_files, besides its bytes.
const maxChangedFiles = 2000

// writeSummary writes the part of the step summary: warnings first, then the
// changed files, those that programs obey before the others.
func (c changed) writeSummary(b *strings.Builder) {
	if len(c.warnings) > 0 {
		b.WriteString("#### Look at this before you build, commit or push\n\n")
		for _, w := range c.warnings[:min(len(c.warnings), maxSummaryWarnings)] {
			b.WriteString("- " + inlineText(w) + "\n")
		}
		if more := len(c.warnings) - maxSummaryWarnings; more > 0 {
			fmt.Fprintf(b, "- %d more warnings are in summary.json in the report folder\n", more)
		}
		b.WriteString("\n")
	}
	if c.headline == "" {
		return
	}
	fmt.Fprintf(b, "#### Changed files\n\n%s\n\n", c.headline)
	if len(c.rows) == 0 {
		return
	}
	b.WriteString("| | Path | Change | Obeyed |\n|---|---|---|---|\n")
	for _, row := range c.rows[:min(len(c.rows), maxSummaryChanges)] {
		mark := ""
		if row.Class.Dangerous() {
			mark = "⚠"
		}
		reason := row.Class.Reason()
		row.Class = 0 // it has a column of its own
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", mark, inlineCode(row.Path), inlineCode(row.Words()), reason)
	}
	if more := len(c.rows) - maxSummaryChanges; more > 0 {
		fmt.Fprintf(b, "\n%d more rows are in changes.json in the report folder.\n", more)
	}
	b.WriteString("\nThe whole diff is changes.diff in the report folder. Git's settings, ignore rules and attributes hide nothing in it.\n\n")
}

// inlineText shows a sentence with names of the agent's in it as code, in which
// neither Markdown nor HTML works.
func inlineText(text string) string {
	return "`" + strings.ReplaceAll(text, "`", "'") + "`"
}

// annotate makes annotations of the first warnings.
func (c changed) annotate(s *step) {
	for i, w := range c.warnings {
		if i == maxAnnotations {
			s.annotate("warning", "claude-sandbox warnings", fmt.Errorf("%d more warnings are in the step summary", len(c.warnings)-i))
			return
		}
		s.annotate("warning", "claude-sandbox warning", errors.New(w))
	}
}
