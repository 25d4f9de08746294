package manual

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/release"
)

// Page is a page of documentation that is made of the table of rules.
type Page struct {
	Name string // from docs/
	Text string
}

// Pages returns the index of all rules and a page for each family.
func Pages() ([]Page, error) {
	var pages []Page
	index := new(strings.Builder)
	index.WriteString(checksBegin)
	for _, f := range lint.Families() {
		fmt.Fprintf(index, "## [SBX%cxx %s](%s)\n\n", f.Digit, f.Title, familyPage(f.Digit))
		index.WriteString("| rule | severity | category | name | |\n|---|---|---|---|---|\n")
		for _, r := range f.Rules {
			title := r.Title
			if r.Fix != "" {
				title += " (*fix*)"
			}
			fmt.Fprintf(index, "| [%s](%s) | %s | %s | %s | %s |\n", r.ID, rulePage(r), r.Severity, r.Category, r.Name, title)
		}
		index.WriteByte('\n')
		page, err := familyMarkdown(f)
		if err != nil {
			return nil, err
		}
		pages = append(pages, Page{familyPage(f.Digit), page})
	}
	index.WriteString(checksEnd)
	return slices.Insert(pages, 0, Page{"checks.md", index.String()}), nil
}

// repository is where the program and its documentation are.
var repository = "https://github.com/" + release.Org + "/claude-sandbox"

// familyPage is the page that explains a family's rules, from docs/.
func familyPage(digit byte) string { return fmt.Sprintf("checks/SBX%cxx.md", digit) }

// rulePage is the place in docs/ that explains a rule.
func rulePage(r rule.Rule) string {
	return familyPage(r.ID[len("SBX")]) + "#" + strings.ToLower(r.ID)
}

// URI is where a rule is explained.
func URI(r rule.Rule) string {
	return repository + "/blob/main/docs/" + rulePage(r)
}

func familyMarkdown(f lint.Family) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# SBX%cxx %s\n\n[All checks](../checks.md)\n", f.Digit, f.Title)
	for _, r := range f.Rules {
		output, err := exampleOutput(r)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\n## %s\n\n**%s** (%s, %s): %s.\n\n%s\n", r.ID, r.Name, r.Severity, r.Category, r.Title, r.Reason)
		fmt.Fprintf(&b, "\n### Bad\n\n%s\n%s", fence("jsonc", visibleExample(r.Bad)), fence("text", output))
		fmt.Fprintf(&b, "\n### Good\n\n%s", fence("jsonc", visibleExample(r.Good)))
		if r.Fix != "" {
			fmt.Fprintf(&b, "\n`%s`: %s.\n", fixLine(r), r.Fix)
		}
	}
	return b.String(), nil
}

// fixLine is the command that fixes what r finds: notes are fixed by name.
func fixLine(r rule.Rule) string {
	if r.Severity == diag.SeverityNote {
		return "sbx-devc fix --rule " + r.ID
	}
	return "sbx-devc fix"
}

// fence quotes text as a block of code; what holds several files is no JSON.
func fence(language, text string) string {
	if strings.HasPrefix(text, "-- ") {
		language = "text"
	}
	return "```" + language + "\n" + text + "```\n"
}

// The texts before and after the tables of docs/checks.md.
var (
	//go:embed text/checks_begin.md
	checksBegin string
	//go:embed text/checks_end.md
	checksEnd string
)
