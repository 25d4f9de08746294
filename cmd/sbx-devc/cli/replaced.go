package cli

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// replacedFlags are flags of claude, docker and other sandboxes that people type here:
// for a command, or "" for all of them, the line that does what they want.
var replacedFlags = map[string]map[string]string{
	"run": {
		"dangerously-skip-permissions": "leave it out: Claude never asks in the sandbox",
		"permission-mode":              "leave it out: Claude never asks in the sandbox",
		"clean":                        "use 'sbx-devc clean --profile NAME'",
		"max-usd":                      "use --max-budget-usd",
		"add-dir":                      "use --mount HOST:CONTAINER",
		"volume":                       "use --mount HOST:CONTAINER",
		"max-budget":                   "use --max-budget-usd",
		"allowedTools":                 "Claude's own options come after --: sbx-devc run -- --allowedTools …",
		"worktree":                     "use --workspace clone",
		"rebuild":                      "use 'sbx-devc sandbox build'; a run builds what is out of date",
	},
	"sandbox": {
		"clean": "use 'sbx-devc clean --profile NAME'",
		"shell": "use 'sbx-devc run --shell'",
	},
	"build": {
		"claude-version": "use 'sbx-devc image build --build-arg CLAUDE_VERSION=…'",
	},
}

// replacedCommands are names of commands elsewhere, with ours.
var replacedCommands = map[string]string{
	"list": "use 'sbx-devc ls'", "ps": "use 'sbx-devc ls'", "kill": "use 'sbx-devc stop'", "build": "use 'sbx-devc sandbox build'",
	"up": "use 'devcontainer up --workspace-folder .'", "lint": "use 'sbx-devc validate'", "check": "use 'sbx-devc validate'",
	"mcp": "use 'sbx-devc run --mcp-config FILE'", "setup-token": "use 'sbx-devc login'", "config": "use 'sbx-devc settings'",
}

// replacement is the line for a flag that cmd does not have, "" for none. Other programs take
// their name without a command for a run.
func replacement(cmd *cobra.Command, flag string) string {
	if line := replacedFlags[cmd.Name()][flag]; line != "" || cmd.HasParent() {
		return line
	}
	run, _, err := cmd.Find([]string{"run"})
	if err != nil || run == cmd {
		return ""
	}
	if replacedFlags["run"][flag] == "" && run.Flags().Lookup(flag) == nil && (len(flag) != 1 || run.Flags().ShorthandLookup(flag) == nil) {
		return ""
	}
	return "use 'sbx-devc run'"
}

// replacedArgument is the line for a word in the place of a command, "" for none: a
// folder or a prompt stands there in other programs.
func replacedArgument(word string) string {
	if line := replacedCommands[word]; line != "" {
		return line
	}
	if info, err := os.Stat(word); strings.ContainsAny(word, " \t\n") || err == nil && info.IsDir() {
		return "use 'sbx-devc run'"
	}
	return ""
}
