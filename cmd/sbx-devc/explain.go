package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/pages"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain RULE",
		Short: "Explain a rule: why it matters, an example, what to do",
		Example: `  sbx-devc explain SBX802
  sbx-devc explain privileged`,
		Args:        cobra.ExactArgs(1),
		Annotations: map[string]string{annotationChecker: ""},
		RunE:        func(_ *cobra.Command, args []string) error { return a.explain(args[0]) },
	}
}

// findRule finds a rule by its id or its name, in letters of any case.
func findRule(word string) (rule.Rule, bool) {
	if r, ok := lint.LookupRule(strings.ToUpper(word)); ok {
		return r, true
	}
	return lint.LookupRule(strings.ToLower(word))
}

func (a *app) explain(word string) error {
	r, ok := findRule(word)
	if !ok {
		err := fmt.Errorf("there is no rule %q", word)
		if best := diag.Suggest(word, ruleWords(false)); best != "" {
			return exitWith(exitCheckUsage, diag.WithHint(err, "did you mean %s?", best))
		}
		return exitWith(exitCheckUsage, diag.WithHint(err, "sbx-devc rules lists them"))
	}
	if err := explainRule(a.stdout, r); err != nil {
		return exitWith(exitNoCheck, err)
	}
	return nil
}

func explainRule(w io.Writer, r rule.Rule) error {
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
