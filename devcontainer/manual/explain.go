package manual

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/pages"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/release"
)

// Explain writes what a rule is about: the reason, a bad and a good example, and what
// validate says about the bad one.
func Explain(w io.Writer, r rule.Rule) error {
	output, err := exampleOutput(r)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s (%s)\n%s\n\n%s\n\nBad:\n%s\nIt says:\n%s\nGood:\n%s", r.ID, r.Name, r.Severity, r.Title, r.Reason,
		indent(visibleExample(r.Bad)), indent(output), indent(visibleExample(r.Good)))
	if r.Fix != "" {
		fmt.Fprintf(&b, "\n%s: %s.\n", fixLine(r), r.Fix)
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// exampleOutput is what validate says about a rule's bad example: the findings
// of this rule.
func exampleOutput(r rule.Rule) (string, error) {
	files := r.Bad.Files()
	findings, err := lint.CheckExample(files)
	if err != nil {
		return "", err
	}
	var own []diag.Finding
	for _, f := range findings {
		if f.Rule == r.ID {
			own = append(own, f)
		}
	}
	if len(own) == 0 {
		return "", errors.New("the example of " + r.ID + " has no finding")
	}
	var b strings.Builder
	err = diag.WriteExcerpts(&b, own, func(name string) []byte { return []byte(files[name]) })
	return b.String(), err
}

// visibleExample shows what an example is about where it cannot be seen.
func visibleExample(e pages.Example) string {
	return strings.ReplaceAll(e.String(), "\ufeff", "<U+FEFF>")
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
}

// Tool describes this program and its rules in a SARIF report.
func Tool() diag.Tool {
	tool := diag.Tool{Name: "sbx-devc", Version: release.Version, URI: repository}
	for _, f := range lint.Families() {
		for _, r := range f.Rules {
			tags := []string{"devcontainer"}
			if strings.ContainsRune("45678", rune(f.Digit)) {
				tags = append(tags, "security")
			}
			tool.Rules = append(tool.Rules, diag.RuleInfo{ID: r.ID, Name: r.Name, Severity: r.Severity, Title: r.Title, Reason: r.Reason,
				Markdown: fmt.Sprintf("**%s**: %s.\n\n%s\n\n[More about %s](%s)", r.Name, r.Title, r.Reason, r.ID,
					URI(r)), URI: URI(r), Tags: tags})
		}
	}
	return tool
}
