package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
)

// checksPage is a page of documentation that is made of the table of rules.
type checksPage struct {
	name string // from docs/
	text string
}

// checksPages returns the index of all rules and a page for each family.
func checksPages() ([]checksPage, error) {
	var pages []checksPage
	index := new(strings.Builder)
	index.WriteString(checksBegin)
	for _, f := range lint.Families() {
		fmt.Fprintf(index, "## [SBX%cxx %s](%s)\n\n| rule | severity | name | |\n|---|---|---|---|\n", f.Digit, f.Title, familyPage(f.Digit))
		for _, r := range f.Rules {
			title := r.Title
			if r.Fix != "" {
				title += " (*fix*)"
			}
			fmt.Fprintf(index, "| [%s](%s) | %s | %s | %s |\n", r.ID, rulePage(r), r.Severity, r.Name, title)
		}
		index.WriteByte('\n')
		page, err := familyMarkdown(f)
		if err != nil {
			return nil, err
		}
		pages = append(pages, checksPage{familyPage(f.Digit), page})
	}
	index.WriteString(checksEnd)
	return slices.Insert(pages, 0, checksPage{"checks.md", index.String()}), nil
}

// familyPage is the page that explains a family's rules, from docs/.
func familyPage(digit byte) string { return fmt.Sprintf("checks/SBX%cxx.md", digit) }

// rulePage is the place in docs/ that explains a rule.
func rulePage(r rule.Rule) string {
	return familyPage(r.ID[len("SBX")]) + "#" + strings.ToLower(r.ID)
}

// rulesMarkdown writes the pages one after another.
func rulesMarkdown(w io.Writer) error {
	pages, err := checksPages()
	if err != nil {
		return err
	}
	for _, p := range pages {
		if _, err := io.WriteString(w, p.text); err != nil {
			return err
		}
	}
	return nil
}

func familyMarkdown(f lint.Family) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# SBX%cxx %s\n\n[All checks](../checks.md)\n", f.Digit, f.Title)
	for _, r := range f.Rules {
		output, err := exampleOutput(r)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\n## %s\n\n**%s** (%s): %s.\n\n%s\n", r.ID, r.Name, r.Severity, r.Title, r.Reason)
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

const checksBegin = `# Checks

` + "`sbx-devc validate`" + ` reads devcontainer.json in all three places of the specification, the Dockerfile and Compose files that it names, sandbox.jsonc, lock files, Features and Templates. This page and those that it leads to are generated from the table of rules and checked by a test, outputs included. ` + "`sbx-devc explain SBX402`" + ` shows the same about one rule.

- ` + "`--format text|json|sarif|github`" + `, ` + "`--fail-on error|warning|note`" + `: see ` + "`sbx-devc validate --help`" + `.
- ` + "`// sbx-ignore SBX408: reason`" + ` (in Dockerfiles and Compose files ` + "`# sbx-ignore …`" + `) switches a rule off for its line or for what follows. The reason is mandatory. A comment that switches nothing off is a finding.
- ` + "`sbx-devc fix`" + ` fixes the errors and warnings that are marked with *fix*. It fixes a note only by name: ` + "`sbx-devc fix --rule SBX506`" + `.
- ` + "`--policy FILE`" + ` adds an organisation's own rules: see [below](#policy-of-an-organisation).

`

const checksEnd = `## In practice

[What the checks say about two published configurations](published-configurations.md) that let Claude Code work without asking.

## Agreement with the official schema

For devcontainer.json and devcontainer-feature.json the verdict of SBX2xx and SBX301 to SBX303 is that of the specification's own JSON Schema, on every file of our corpora and on 20,000 random changes of them, but for these:

| file | official schema | here | why |
|---|---|---|---|
| ` + "`{}`" + ` | valid | SBX205 | a slip in the schema; no tool can start it |
| ` + "`dockerFile` together with `build.dockerfile` and a name that `build` does not know" + ` | valid | SBX205 | the schema refuses the two only without the unknown name |
| ` + "a name in `secrets` that holds `additionalProperties`" + ` | not valid | valid | a slip in the schema, which takes a keyword for a pattern |

## Policy of an organisation

A policy file says what configurations of an organisation may hold:

` + "```jsonc" + `
{
  "registries": {"allow": ["ghcr.io/example", "mcr.microsoft.com/devcontainers"]},
  "features": {"forbid": ["docker-in-docker"], "require": ["ghcr.io/example/features/ca"]},
  "capabilities": {"forbid": ["NET_RAW"]},
  "extensions": {"allow": ["ms-python.*", "golang.go"]},
  "mounts": {"forbid": ["~/.ssh"]},
  "properties": {"forbid": ["privileged", "initializeCommand"]}
}
` + "```" + `

Every list is optional. ` + "`allow`" + ` names everything that may be there, ` + "`forbid`" + ` things that may not, ` + "`require`" + ` things that must. Each finding names the line of the policy. The policy covers every way to write a thing: runArgs, Compose, Dockerfiles with the images that they copy from, build caches and Dockerfile frontends. A privileged container counts as having every capability. A value that depends on a variable of the host is not allowed by any list. Of Features, the policy sees those in the repository and a few well-known ones. It does not ask registries for the metadata of other Features and of image labels; ` + "`sbx-devc effective --online`" + ` shows it.
`
