package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/checks"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/templates"
)

// completeValues tells the shell which words stand at a flag, or in the place
// of an argument, where only some can. Elsewhere it offers files, as it does by
// itself.
func completeValues(root *cobra.Command) {
	fixed := func(words ...string) func() []string { return func() []string { return words } }
	for command, flags := range map[string]map[string]func() []string{
		"init":           {"template": templates.IDs, "topology": fixed("single", "sidecar"), "preset": firewall.PresetNames},
		"update":         {"prefer": fixed("mine", "template")},
		"validate":       {"format": fixed("text", "json", "sarif", "github"), "fail-on": fixed("error", "warning", "note")},
		"fix":            {"rule": func() []string { return checks.RuleWords(true) }},
		"rules":          {"format": fixed("text", "json", "markdown")},
		"explain":        {"": func() []string { return checks.RuleWords(false) }},
		"effective":      {"format": fixed("text", "json")},
		"report":         {"format": fixed("text", "json", "markdown", "html")},
		"run":            {"network": fixed("none", "allowlist", "audit", "host"), "preset": firewall.PresetNames, runtimeFlag: engine.Runtimes},
		"doctor":         {runtimeFlag: engine.Runtimes},
		"policy learn":   {"format": fixed("diff", "flags", "lines"), "include": fixed("denied", "private", "data")},
		"policy presets": {"": firewall.PresetNames},
		"templates show": {"": templates.IDs},
		"image build":    {"platform": fixed("linux/amd64", "linux/arm64")},
		"image lock":     {"platform": fixed("linux/amd64", "linux/arm64"), "update": fixed("base", "claude", "sbx")},
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
