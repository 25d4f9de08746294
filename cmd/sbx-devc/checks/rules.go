package checks

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/manual"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

func RulesCommand(a *cli.App) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List the rules that validate checks",
		Long: `List the rules that validate checks, by family: id, severity, name and what is
wrong. "*" marks those that 'sbx-devc fix' corrects, all or some of their findings:
'sbx-devc explain ID' says which.`,
		Example: `  sbx-devc rules
  sbx-devc rules --format json`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{cli.AnnotationChecker: ""},
		RunE:        func(*cobra.Command, []string) error { return rules(a.Stdout, format) },
	}
	cmd.Flags().StringVar(&format, "format", "text", "text or json")
	return cmd
}

func rules(to io.Writer, format string) error {
	var err error
	switch format {
	case "text":
		err = rulesText(to)
	case "json":
		err = rulesJSON(to)
	default:
		return exitcode.With(exitcode.CheckUsage, cli.UnknownValue("format", format, "text", "json"))
	}
	if err != nil {
		return exitcode.With(exitcode.NoCheck, err)
	}
	return nil
}

func rulesText(w io.Writer) error {
	for _, f := range lint.Families() {
		if _, err := fmt.Fprintf(w, "SBX%cxx  %s\n", f.Digit, f.Title); err != nil {
			return err
		}
		for _, r := range f.Rules {
			mark := " "
			if r.Fix != "" {
				mark = "*"
			}
			if _, err := fmt.Fprintf(w, "  %s%s %-7s %-28s %s\n", r.ID, mark, r.Severity, r.Name, r.Title); err != nil {
				return err
			}
		}
	}
	return nil
}

func rulesJSON(w io.Writer) error {
	type rule struct {
		ID       string        `json:"id"`
		Name     string        `json:"name"`
		Severity diag.Severity `json:"severity"`
		Category string        `json:"category"`
		Family   string        `json:"family"`
		Title    string        `json:"title"`
		Reason   string        `json:"reason"`
		Fix      string        `json:"fix"`
		Bad      string        `json:"bad"`
		Good     string        `json:"good"`
		HelpURI  string        `json:"helpUri"`
	}
	list := []rule{}
	for _, f := range lint.Families() {
		for _, r := range f.Rules {
			list = append(list, rule{r.ID, r.Name, r.Severity, string(r.Category), f.Title,
				r.Title, r.Reason, r.Fix, r.Bad.String(), r.Good.String(), manual.URI(r)})
		}
	}
	return cli.PrintJSON(w, struct {
		SchemaVersion int    `json:"schemaVersion"`
		Rules         []rule `json:"rules"`
	}{1, list})
}

// RuleWords are the ids and names of the rules, or of those that fix can correct.
func RuleWords(fixable bool) (words []string) {
	for _, r := range lint.Rules() {
		if !fixable || r.Fix != "" {
			words = append(words, r.ID, r.Name)
		}
	}
	return words
}
