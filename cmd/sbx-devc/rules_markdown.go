package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/internal/diag"
)

// rulesMarkdown writes docs/checks.md. The table of rules is where each of its
// lines comes from.
func rulesMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprint(&b, `# Checks

`+"`sbx-devc validate`"+` reads devcontainer.json in all three places of the specification, the Dockerfile and Compose files that it names, sandbox.jsonc, lock files, Features and Templates. This page is generated from the table of rules (`+"`sbx-devc rules --format markdown`"+`) and checked by a test, outputs included.

- `+"`--format text|json|sarif|github`"+`, `+"`--fail-on error|warning|note`"+`: see `+"`sbx-devc validate --help`"+`.
- `+"`// sbx-ignore SBX408: reason`"+` (in Dockerfiles and Compose files `+"`# sbx-ignore …`"+`) switches a rule off for its line or for what follows. The reason is mandatory, and a comment that does nothing is a finding.
- `+"`sbx-devc fix`"+` fixes what is marked with *fix*: errors and warnings. It follows a note only by name: `+"`sbx-devc fix --rule SBX506`"+`.
- `+"`--policy FILE`"+` adds an organisation's own rules: see [below](#policy-of-an-organisation).

`)
	for _, f := range devcontainer.Families() {
		fmt.Fprintf(&b, "## SBX%cxx %s\n\n| rule | severity | name | |\n|---|---|---|---|\n", f.Digit, f.Title)
		for _, r := range f.Rules {
			title := r.Title
			if r.Fix != "" {
				title += " (*fix*)"
			}
			fmt.Fprintf(&b, "| [%s](#%s) | %s | %s | %s |\n", r.ID, strings.ToLower(r.ID), r.Severity, r.Name, title)
		}
		b.WriteByte('\n')
		for _, r := range f.Rules {
			if err := ruleMarkdown(&b, r); err != nil {
				return err
			}
		}
	}
	b.WriteString(checksEnd)
	_, err := io.WriteString(w, b.String())
	return err
}

func ruleMarkdown(b *strings.Builder, r devcontainer.Rule) error {
	output, err := exampleOutput(r)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "### %s\n\n**%s** (%s): %s.\n\n%s\n\n", r.ID, r.Name, r.Severity, r.Title, r.Reason)
	fmt.Fprintf(b, "Bad:\n\n%s\n%s\nGood:\n\n%s\n", fence("jsonc", visibleExample(r.Bad())), fence("text", output), fence("jsonc", visibleExample(r.Good())))
	if r.Fix != "" {
		fmt.Fprintf(b, "`%s`: %s.\n\n", fixLine(r), r.Fix)
	}
	return nil
}

// fixLine is the command that fixes what r finds: notes are fixed by name.
func fixLine(r devcontainer.Rule) string {
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

const checksEnd = `## In practice

[What the checks say about two published configurations](published-configurations.md) that let Claude Code work without asking.

## Agreement with the official schema

For devcontainer.json and devcontainer-feature.json the verdict of SBX2xx and SBX301 to SBX303 is that of the specification's own JSON Schema, on every file of our corpora and on 20,000 random changes of them, but for these:

| file | official schema | here | why |
|---|---|---|---|
| ` + "`{}`" + ` | valid | SBX205 | a slip in the schema; no tool can start it |
| ` + "`dockerFile` beside `build.dockerfile` and a name that `build` does not know" + ` | valid | SBX205 | only without the unknown name the schema refuses the two |
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

Every list is optional. ` + "`allow`" + ` names all that may be there, ` + "`forbid`" + ` what may not, ` + "`require`" + ` what must. Each finding says which line of the policy asks for it. It holds for every way to write the thing: runArgs, Compose, Dockerfiles with what they copy from, caches and readers of Dockerfiles; a privileged container has every capability; what depends on a variable of the host is not among what is allowed. Of Features, the metadata of those in the repository and of a few well-known ones counts; what others, and labels of images, add is not asked of registries: see ` + "`sbx-devc effective --online`" + `.
`
