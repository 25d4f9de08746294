package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/checks"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/session/runs"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/templates"
)

// completeValues tells the shell which words stand at a flag, or in the place
// of an argument, where only some can. Elsewhere it offers files, as it does by
// itself.
func (a *app) completeValues(root *cobra.Command) {
	fixed := func(words ...string) func() []string { return func() []string { return words } }
	for command, flags := range map[string]map[string]func() []string{
		"init":      {"template": templates.IDs, "topology": fixed("single", "sidecar"), "preset": firewall.PresetNames},
		"update":    {"prefer": fixed("mine", "template")},
		"validate":  {"format": fixed("text", "json", "sarif", "github"), "fail-on": fixed("error", "warning", "note")},
		"fix":       {"rule": func() []string { return checks.RuleWords(true) }},
		"rules":     {"format": fixed("text", "json", "markdown")},
		"explain":   {"": func() []string { return checks.RuleWords(false) }},
		"effective": {"format": fixed("text", "json")},
		"run": {
			"network": fixed("none", "allowlist", "audit", "host"), "preset": firewall.PresetNames, "workspace": fixed(settings.WorkspaceModes...),
			"output-format": fixed(outputFormats[1:]...), "profile": a.profileWords, "resume": a.runWords(ended),
			"model": fixed("opus", "sonnet", "haiku"), runtimeFlag: engine.Runtimes,
		},
		"doctor":           {runtimeFlag: engine.Runtimes},
		"attach":           {"": a.runWords(going)},
		"exec":             {"": a.runWords(going)},
		"shell":            {"": a.runWords(going)},
		"stop":             {"": a.runWords(going)},
		"status":           {"": a.runWords(every)},
		"logs":             {"": a.runWords(every)},
		"report":           {"": a.runWords(ended), "format": fixed("text", "json", "markdown", "html")},
		"diff":             {"": a.runWords(ended)},
		"review":           {"": a.runWords(ended)},
		"apply":            {"": a.runWords(ended)},
		"discard":          {"": a.runWords(ended)},
		"clean":            {"profile": a.profileWords},
		"settings show":    {"profile": a.profileWords, "network": fixed("none", "allowlist", "audit", "host"), "preset": firewall.PresetNames},
		"profile show":     {"": a.profileWords},
		"profile validate": {"": a.profileWords},
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
func going(r runs.Run) bool { return r.Result == runs.Running }
func ended(r runs.Run) bool { return r.Result != runs.Running }

// maxRunWords bounds the runs that a shell offers, the newest.
const maxRunWords = 20

// runWords are the names and ids of the runs that a command takes, of all projects.
func (a *app) runWords(takes func(runs.Run) bool) func() []string {
	return func() (words []string) {
		for _, r := range a.runs().List("") {
			if len(words) < maxRunWords && takes(r) {
				words = append(words, cmp.Or(r.Name, r.ID))
			}
		}
		return words
	}
}

// profileWords are the names of the profiles; none when they cannot be read.
func (a *app) profileWords() (names []string) {
	rows, err := a.profiles()
	if err != nil {
		return nil
	}
	for _, r := range rows {
		names = append(names, r.Name)
	}
	return names
}
