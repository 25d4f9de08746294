package action

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/action/patch"
)

// Bounds of what Apply says. GitHub takes 65,536 characters of a pull request's text.
const (
	maxTitle     = 200      // characters
	maxPull      = 60_000   // bytes of the pull request's text
	maxBody      = 20 << 10 // bytes of the text that the workflow gives
	maxProposals = 100      // rows of a table
)

func (a *applied) pairs() []pair {
	var paths []string
	for _, f := range a.verdict.Files {
		paths = append(paths, NeutralLine(f.Path, maxWarning))
	}
	number := ""
	if a.pull.Number > 0 {
		number = strconv.Itoa(a.pull.Number)
	}
	return []pair{
		{"conclusion", string(a.conclusion)},
		{"result", truncate(a.message, maxOutput)},
		{"pull_request", a.pull.URL},
		{"pull_request_number", number},
		{"branch", a.branch},
		{"commit", a.commit},
		{"changed_files", outputLines(paths)},
		{"protected_files", outputLines(texts(a.verdict.Protected))},
		{"refused", outputLines(texts(a.verdict.Refused))},
	}
}

func texts(findings []patch.Finding) (lines []string) {
	for _, f := range findings {
		lines = append(lines, NeutralLine(f.String(), maxWarning))
	}
	return lines
}

// body is the text of the pull request. All that the agent chose is code in it: no mention,
// link or image of the agent's.
func (a *applied) body(in ApplyInputs) string {
	var b strings.Builder
	b.WriteString("An agent in a sandbox made these changes. A step without an agent applied them.\n\n")
	if in.Body != "" {
		b.WriteString(fenced(truncate(in.Body, maxBody)))
	}
	a.tables(&b)
	text := b.String()
	if len(text) > maxPull { // the tables are last, so it ends with whole rows
		text = text[:strings.LastIndexByte(text[:maxPull], '\n')+1] + "\nMore is in the step summary.\n"
	}
	return text
}

// writeSummary writes the step summary.
func (a *applied) writeSummary(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### Changes of the agent: %s\n\n", a.conclusion)
	if a.pull.URL != "" {
		fmt.Fprintf(&b, "%s on branch %s\n\n", a.pull.URL, inlineCode(a.branch))
	} else {
		b.WriteString(fenced(truncate(cmp.Or(a.explained, a.message), maxSummaryResult)))
	}
	a.tables(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// tables writes what was refused, what a person has to look at, and all changed files.
func (a *applied) tables(b *strings.Builder) {
	for _, table := range []struct {
		title    string
		findings []patch.Finding
	}{
		{"Refused", a.verdict.Refused}, {"A person has to look at these", a.verdict.Protected},
	} {
		if len(table.findings) == 0 {
			continue
		}
		fmt.Fprintf(b, "#### %s\n\n| Path | Why |\n|---|---|\n", table.title)
		for _, f := range table.findings[:min(len(table.findings), maxProposals)] {
			fmt.Fprintf(b, "| %s | %s |\n", inlineCode(f.Path), inlineCode(f.Why))
		}
		andMore(b, len(table.findings))
	}
	if len(a.verdict.Files) > 0 {
		protected := map[string]bool{}
		for _, f := range a.verdict.Protected {
			protected[f.Path] = true
		}
		b.WriteString("#### Changed files\n\n| Path | Added | Removed |\n|---|--:|--:|\n")
		files := slices.Clone(a.verdict.Files)
		slices.SortStableFunc(files, func(x, y patch.File) int { return rank(protected[x.Path]) - rank(protected[y.Path]) })
		for _, f := range files[:min(len(files), maxProposals)] {
			fmt.Fprintf(b, "| %s | %d | %d |\n", inlineCode(f.Path), f.Plus, f.Minus)
		}
		andMore(b, len(files))
	}
	if n := len(a.verdict.Ignored); n > 0 {
		fmt.Fprintf(b, "%d new files are left out, because the repository's rules ignore them.\n", n)
	}
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

func andMore(b *strings.Builder, n int) {
	if n > maxProposals {
		fmt.Fprintf(b, "\n%d more are not shown.\n", n-maxProposals)
	}
	b.WriteString("\n")
}
