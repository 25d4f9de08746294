package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/release"
)

func (a *app) rulesCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List the rules that validate checks",
		Long: `List the rules that validate checks, by family: id, severity, name and what is
wrong. "*" marks those that 'sbx-devc fix' can correct.`,
		Example: `  sbx-devc rules
  sbx-devc rules --format json`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{annotationChecker: ""},
		RunE:        func(*cobra.Command, []string) error { return a.rules(format) },
	}
	cmd.Flags().StringVar(&format, "format", "text", "text, json or markdown (docs/checks.md and docs/checks)")
	return cmd
}

func (a *app) rules(format string) error {
	var err error
	switch format {
	case "text":
		err = rulesText(a.stdout)
	case "json":
		err = rulesJSON(a.stdout)
	case "markdown":
		err = rulesMarkdown(a.stdout)
	default:
		return exitWith(exitCheckUsage, unknownValue("format", format, "text", "json", "markdown"))
	}
	if err != nil {
		return exitWith(exitNoCheck, err)
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
			list = append(list, rule{r.ID, r.Name, r.Severity, f.Title, r.Title, r.Reason, r.Fix, r.Bad.String(), r.Good.String(), ruleURI(r)})
		}
	}
	return printJSON(w, struct {
		SchemaVersion int    `json:"schemaVersion"`
		Rules         []rule `json:"rules"`
	}{1, list})
}

// ruleURI is where the rule is explained.
func ruleURI(r rule.Rule) string {
	return "https://github.com/" + release.Org + "/claude-sandbox/blob/main/docs/" + rulePage(r)
}

// sarifTool describes this program and its rules in a report.
func sarifTool() diag.Tool {
	tool := diag.Tool{Name: "sbx-devc", Version: release.Version, URI: "https://github.com/" + release.Org + "/claude-sandbox"}
	for _, f := range lint.Families() {
		for _, r := range f.Rules {
			tags := []string{"devcontainer"}
			if strings.ContainsRune("45678", rune(f.Digit)) {
				tags = append(tags, "security")
			}
			tool.Rules = append(tool.Rules, diag.RuleInfo{ID: r.ID, Name: r.Name, Severity: r.Severity, Title: r.Title, Reason: r.Reason,
				Markdown: fmt.Sprintf("**%s**: %s.\n\n%s\n\n[More about %s](%s)", r.Name, r.Title, r.Reason, r.ID,
					ruleURI(r)), URI: ruleURI(r), Tags: tags})
		}
	}
	return tool
}
