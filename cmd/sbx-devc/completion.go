package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/checks"
	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/connect"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/cmd/sbx-devc/run"
	"github.com/org/claude-sandbox/devcontainer/selection"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/session/runs"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/templates"
)

// completeValues tells the shell which words stand at a flag, or in the place
// of an argument, where only some can. Elsewhere it offers files, as it does by
// itself.
func completeValues(a *cli.App, root *cobra.Command) {
	profiles := func() []string { return profileWords(a) }
	fixed := func(words ...string) func() []string { return func() []string { return words } }
	for command, flags := range map[string]map[string]func() []string{
		"init":   {"template": templates.IDs, "topology": fixed("single", "sidecar"), "preset": firewall.PresetNames},
		"update": {"prefer": fixed("mine", "template")},
		"validate": {"format": fixed("text", "json", "sarif", "github", "rdjson"), "fail-on": fixed("error", "warning", "note"),
			"rule": selection.Words, "ignore": selection.Words},
		"fix":       {"rule": func() []string { return checks.RuleWords(true) }, "ignore": selection.Words},
		"rules":     {"format": fixed("text", "json")},
		"explain":   {"": func() []string { return checks.RuleWords(false) }},
		"effective": {"format": fixed("text", "json")},
		"run": {
			"network": fixed("none", "allowlist", "audit", "host"), "preset": firewall.PresetNames, "workspace": fixed(settings.WorkspaceModes...),
			"output-format": fixed(run.OutputFormats[1:]...), "profile": profiles, "resume": runWords(a, ended),
			"model": fixed("opus", "sonnet", "haiku"), connect.RuntimeFlag: engine.Runtimes,
		},
		"doctor":           {connect.RuntimeFlag: engine.Runtimes},
		"attach":           {"": runWords(a, going)},
		"exec":             {"": runWords(a, going)},
		"shell":            {"": runWords(a, going)},
		"stop":             {"": runWords(a, going)},
		"status":           {"": runWords(a, every)},
		"logs":             {"": runWords(a, every)},
		"report":           {"": runWords(a, ended), "format": fixed("text", "json", "markdown", "html")},
		"diff":             {"": runWords(a, ended)},
		"review":           {"": runWords(a, ended)},
		"apply":            {"": runWords(a, ended)},
		"discard":          {"": runWords(a, ended)},
		"clean":            {"profile": profiles},
		"settings show":    {"profile": profiles, "network": fixed("none", "allowlist", "audit", "host"), "preset": firewall.PresetNames},
		"profile show":     {"": profiles},
		"profile validate": {"": profiles},
		"preset":           {"": firewall.PresetNames},
		"policy learn":     {"format": fixed("diff", "flags", "lines"), "include": fixed("denied", "private", "data")},
		"policy presets":   {"": firewall.PresetNames},
		"templates show":   {"": templates.IDs},
		"image build":      {"platform": fixed("linux/amd64", "linux/arm64")},
		"image lock":       {"platform": fixed("linux/amd64", "linux/arm64"), "update": fixed("base", "claude", "sbx")},
	} {
		cmd, _, err := root.Find(strings.Fields(command))
		if err != nil {
			panic(err) // the table above names what is not there
		}
		for flag, words := range flags {
			complete := func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
				return words(), cobra.ShellCompDirectiveNoFileComp
			}
			if flag == "" {
				cmd.ValidArgsFunction = complete
			} else if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
				panic(err)
			}
		}
	}
}

// Which runs a command takes.
func every(runs.Run) bool   { return true }
func going(r runs.Run) bool { return r.GoesOn() }
func ended(r runs.Run) bool { return !r.GoesOn() }

// maxRunWords bounds the runs that a shell offers, the newest.
const maxRunWords = 20

// runWords are the names and ids of the runs that a command takes, of all projects.
func runWords(a *cli.App, takes func(runs.Run) bool) func() []string {
	return func() (words []string) {
		for _, r := range projects.Runs(a).List("") {
			if len(words) < maxRunWords && takes(r) {
				words = append(words, cmp.Or(r.Name, r.ID))
			}
		}
		return words
	}
}

// profileWords are the names of the profiles; none when they cannot be read.
func profileWords(a *cli.App) (names []string) {
	rows, err := projects.Profiles(a)
	if err != nil {
		return nil
	}
	for _, r := range rows {
		names = append(names, r.Name)
	}
	return names
}
