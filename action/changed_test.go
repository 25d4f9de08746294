package action

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// Attack: names of files that are workflow commands, Markdown or HTML, and very
// many of them.
func TestAttackNamesOfChangedFiles(t *testing.T) {
	names := []string{
		"::error::owned", "a\n::set-output name=result::FORGED", "##[add-mask]x", "`</code><img src=x>`|row|", "\x1b[2Jx",
		"sk-ant-test-key", "\u202egpj.exe",
	}
	set := &changes.Set{}
	for _, name := range names {
		set.Changes = append(set.Changes,
			changes.Change{Path: name, Kind: changes.Added, After: &changes.State{What: changes.File}, Class: obeyed.Shell})
	}
	for i := range 5000 {
		set.Changes = append(set.Changes,
			changes.Change{Path: fmt.Sprintf("%d-%s.go", i, strings.Repeat("x", 200)), Kind: changes.Changed,
				Before: &changes.State{What: changes.File}, After: &changes.State{What: changes.File}})
	}
	set.Files = len(set.Changes)
	warnings := set.Warnings(20)
	for i := range 500 {
		warnings = append(warnings, fmt.Sprintf("warning %d ::error::x ` %s", i, strings.Repeat("y", 5000)))
	}
	r := runStep(t, t.Context(), nil, func(context.Context, Job) (Report, error) {
		return Report{Outcome: agent.Outcome{Conclusion: agent.Success}, Result: &agent.Result{Text: "done"}, Changes: set,
			Warnings: warnings}, nil
	})
	for _, command := range commandsIn(r.log) {
		name, _, _ := strings.Cut(strings.TrimPrefix(command, "::"), " ")
		if name, _, _ = strings.Cut(name, "::"); !slices.Contains([]string{"add-mask", "group", "endgroup", "warning"}, name) {
			t.Errorf("a command of the agent's: %.200q", command)
		}
	}
	if n := strings.Count(r.log, "\n::warning title="); n != maxAnnotations+1 {
		t.Errorf("%d annotations", n)
	}
	if len(r.summary) > 64<<10 {
		t.Errorf("a summary of %d bytes", len(r.summary))
	}
	inCode := regexp.MustCompile("`[^`\n]*`") // where nothing is Markdown or HTML
	for _, bad := range []string{"\n::", "<img", "\x1b", "\u202e", "|row|"} {
		if strings.Contains(inCode.ReplaceAllString(r.summary, ""), bad) {
			t.Errorf("%q is in the summary", bad)
		}
	}
	for _, where := range []string{r.summary, r.outputs["changed_files"], strings.ReplaceAll(r.log, "::add-mask::sk-ant-test-key", "")} {
		if strings.Contains(where, "sk-ant-test-key") {
			t.Error("a secret arrived as a file's name")
		}
	}
	if protected := strings.Split(r.outputs["protected_files"], "\n"); len(protected) != len(names) ||
		strings.Contains(r.outputs["protected_files"], "sk-ant") {
		t.Errorf("protected_files: %q", protected)
	}
	lines := strings.Split(r.outputs["changed_files"], "\n")
	if lines[1] != `a\n::set-output name=result::FORGED` || len(r.outputs["changed_files"]) > maxOutput || len(lines) > maxChangedFiles {
		t.Errorf("changed_files begins with %q and has %d lines", lines[:3], len(lines))
	}
}
