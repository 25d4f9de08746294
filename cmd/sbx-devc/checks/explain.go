package checks

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/manual"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

func ExplainCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "explain RULE",
		Short: "Explain a rule: why it matters, an example, what to do",
		Example: `  sbx-devc explain SBX802
  sbx-devc explain privileged`,
		Args:        cobra.ExactArgs(1),
		Annotations: map[string]string{cli.AnnotationChecker: ""},
		RunE:        func(_ *cobra.Command, args []string) error { return explainRule(a.Stdout, args[0]) },
	}
}

// findRule finds a rule by its id or its name, in letters of any case.
func findRule(word string) (rule.Rule, bool) {
	if r, ok := lint.LookupRule(strings.ToUpper(word)); ok {
		return r, true
	}
	return lint.LookupRule(strings.ToLower(word))
}

func explainRule(to io.Writer, word string) error {
	r, ok := findRule(word)
	if !ok {
		err := fmt.Errorf("there is no rule %q", word)
		if best := diag.Suggest(word, RuleWords(false)); best != "" {
			return exitcode.With(exitcode.CheckUsage, diag.WithHint(err, "did you mean %s?", best))
		}
		return exitcode.With(exitcode.CheckUsage, diag.WithHint(err, "sbx-devc rules lists them"))
	}
	if err := manual.Explain(to, r); err != nil {
		return exitcode.With(exitcode.NoCheck, err)
	}
	return nil
}
