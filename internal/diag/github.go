package diag

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// annotationLimit is how many annotations of one kind GitHub shows for a step
// (docs.github.com, "Usage limits"); more are dropped without a word.
const annotationLimit = 10

var (
	commandData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	commandProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// WriteGitHub prints findings as workflow commands, which GitHub Actions shows
// next to the lines of a pull request: the worst first, and at most ten of each
// kind, and before them the problems. The others follow as text, and a last notice says how many. GitHub takes
// relative paths as the repository's.
func WriteGitHub(w io.Writer, findings []Finding, problems []Problem) error {
	sorted := slices.Clone(findings)
	slices.SortStableFunc(sorted, func(a, b Finding) int { return a.Severity.rank() - b.Severity.rank() })
	var b strings.Builder
	var rest []Finding
	property := func(s string) string { return commandProperty.Replace(Unmasked(s)) }
	for _, p := range problems {
		file := ""
		if p.File != "" {
			file = "file=" + property(p.File) + ","
		}
		fmt.Fprintf(&b, "::error %stitle=not checked::%s\n", file, commandData.Replace(p.text()))
	}
	shown := map[string]int{"error": min(len(problems), annotationLimit)}
	for _, f := range sorted {
		kind := map[Severity]string{SeverityError: "error", SeverityWarning: "warning"}[f.Severity]
		limit := annotationLimit
		if kind == "" {
			kind, limit = "notice", annotationLimit-1 // one is for the rest
		}
		if shown[kind] == limit {
			rest = append(rest, f)
			continue
		}
		shown[kind]++
		message := Unmasked(f.Message)
		if f.Hint != "" {
			message += "\nhint: " + Unmasked(f.Hint)
		}
		fmt.Fprintf(&b, "::%s file=%s,line=%d,endLine=%d", kind, property(f.File), f.Line, max(f.EndLine, f.Line))
		if f.EndLine <= f.Line { // GitHub takes columns only within one line
			fmt.Fprintf(&b, ",col=%d,endColumn=%d", f.Column, max(f.EndColumn, f.Column))
		}
		fmt.Fprintf(&b, ",title=%s::%s\n", property(f.Rule), commandData.Replace(message))
	}
	if _, err := io.WriteString(w, b.String()); err != nil || len(rest) == 0 {
		return err
	}
	for i := range rest {
		// A line that starts like a command would be one.
		rest[i].File = strings.TrimLeft(rest[i].File, ":#")
	}
	if err := WriteText(w, rest); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "::notice title=sbx-devc::%d more findings are in the log of this step\n", len(rest))
	return err
}
