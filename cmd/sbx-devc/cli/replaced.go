package cli

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/shellword"
)

// Lines that do what people want who type flags and commands of claude, docker and other
// sandboxes here.
const (
	neverAsks   = "leave it out: Claude never asks in the sandbox"
	useMount    = "use --mount HOST:CONTAINER[:ro]"
	useAllow    = "use --allow HOST"
	useClone    = "use --workspace clone; its branch is sbx/RUN"
	useBudget   = "use --max-budget-usd"
	noRights    = "leave it out: no flag gives the agent rights"
	removedEver = "leave it out: the containers of a run go with it"
	cleanKept   = "use 'sbx-devc clean --profile NAME'"
	inSummary   = "use --summary-file FILE, or --output-format json for Claude's answer"
	addNull     = "add 2>/dev/null: results alone are on standard output"
	useStop     = "use 'sbx-devc stop'"
	closedWords = "leave it out: the firewall stands before Claude's own sandbox would"
	useRun      = "use 'sbx-devc run'"
)

// ReplacedFlags has those lines by command and flag.
var ReplacedFlags = map[string]map[string]string{
	"run": {
		"dangerously-skip-permissions": neverAsks, "permission-mode": neverAsks, "yolo": neverAsks, "yes": neverAsks,
		"add-dir": useMount, "volume": useMount, "v": useMount,
		"allow-domain": useAllow, "allowed-domains": useAllow, "allow-host": useAllow,
		"no-network": "use --network none", "offline": "use --network none", "native-sandbox": closedWords,
		"worktree": useClone, "clone": useClone, "branch": useClone,
		"readonly-project": "use --workspace ro", "read-only": "use --workspace ro", "copy": "use --workspace copy",
		"cwd": "name the folder: sbx-devc run DIR", "workdir": "name the folder: sbx-devc run DIR", "w": "name the folder: sbx-devc run DIR",
		"auto-apply": "use 'sbx-devc review --auto-apply GLOB' after the run",
		"max-usd":    useBudget, "max-budget": useBudget, "max-cost": useBudget,
		"rm": removedEver, "keep": removedEver, "graceful-shutdown": "leave it out: the agent may finish its sentence at every end",
		"clean": cleanKept, "persist-container": "use --profile NAME: what it keeps is found by the next run",
		"rebuild": "use 'sbx-devc sandbox build'; a run builds what is out of date", "pull": "use 'sbx-devc image pull'",
		"privileged": noRights, "cap-add": noRights, "user": noRights, "u": noRights, "userns": noRights, "gpus": noRights, "device": noRights,
		"publish":         "leave it out: nothing of a run can be reached from outside; 'sbx-devc exec -- COMMAND' looks into it",
		"non-interactive": "use -p, as in sbx-devc run -p 'YOUR PROMPT'",
		"json":            inSummary, "quiet": addNull, "q": addNull,
		"log-level": "use --log FILE, with --verbose for more",
		"t":         "leave it out: a terminal is used where there is one", "tty": "leave it out: a terminal is used where there is one",
		"entrypoint": "use --shell, or 'sbx-devc exec -- COMMAND' in a run", "instructions": "use --append-system-prompt or --prompt-file",
	},
	"sandbox": {
		"clean": cleanKept,
		"shell": "use 'sbx-devc run --shell'",
	},
	"build": {
		"claude-version": "use 'sbx-devc image build --build-arg CLAUDE_VERSION=…'",
	},
}

// claudesFlags are options of Claude Code that a run passes on behind "--".
var claudesFlags = []string{
	"agent", "agents", "allowedTools", "allowed-tools", "betas", "debug", "disallowedTools", "disallowed-tools", "effort", "fallback-model",
	"fork-session", "include-partial-messages", "json-schema", "plugin-dir", "session-id", "settings", "system-prompt", "tools",
}

// ReplacedCommands are names of commands elsewhere, with ours.
var ReplacedCommands = map[string]string{
	"list": "use 'sbx-devc ls'", "ps": "use 'sbx-devc ls'", "history": "use 'sbx-devc ls'", "kill": useStop, "down": useStop,
	"start": useRun, "claude": useRun, "chat": useRun, "resume": "use 'sbx-devc run --continue'",
	"continue": "use 'sbx-devc run --continue'", "inspect": "use 'sbx-devc status'", "ssh": "use 'sbx-devc shell'",
	"rm": "use 'sbx-devc clean'", "prune": "use 'sbx-devc clean'", "diagnose": "use 'sbx-devc doctor'", "pull": "use 'sbx-devc image pull'",
	"build": "use 'sbx-devc sandbox build'", "setup": "use 'sbx-devc init'", "auth": "use 'sbx-devc login'",
	"secret": "use 'sbx-devc run --secret NAME=SOURCE'",
	"up":     "use 'devcontainer up --workspace-folder .'", "lint": "use 'sbx-devc validate'", "check": "use 'sbx-devc validate'",
	"mcp": "use 'sbx-devc run --mcp-config FILE'", "setup-token": "use 'sbx-devc login'", "config": "use 'sbx-devc settings'",
	"firewall": "use 'sbx-devc policy'", "network": "use 'sbx-devc policy'", "run": useRun,
}

// sandboxCommand stands for a run in other programs, as no command does.
const sandboxCommand = "sandbox"

// replacement is the line for a flag that cmd does not have, "" for none. Other programs take
// their name without a command for a run.
func replacement(cmd *cobra.Command, flag string) string {
	line := ReplacedFlags[cmd.Name()][flag]
	if line == "" && cmd.Name() == "run" && slices.Contains(claudesFlags, flag) {
		line = "Claude's own options come after --: sbx-devc run -- --" + flag + " …"
	}
	if line != "" || cmd.HasParent() && cmd.Name() != sandboxCommand {
		return line
	}
	run, _, err := cmd.Root().Find([]string{"run"})
	if err != nil || run == cmd {
		return ""
	}
	if ReplacedFlags["run"][flag] == "" && run.Flags().Lookup(flag) == nil && (len(flag) != 1 || run.Flags().ShorthandLookup(flag) == nil) {
		return ""
	}
	return useRun
}

// replacedArgument is the line for a word in the place of a command, "" for none: a
// folder or a prompt stands there in other programs.
func replacedArgument(word string) string {
	if line := ReplacedCommands[word]; line != "" {
		return line
	}
	if info, err := os.Stat(word); strings.ContainsAny(word, " \t\n") || err == nil && info.IsDir() {
		return useRun
	}
	return ""
}

// inFull is a line, with the words of args behind it where it is run's, args are of cmd and
// run takes them, and none of them gives a variable its value.
func inFull(line string, cmd *cobra.Command, args []string) string {
	if cmd.HasParent() || len(args) > 0 && ReplacedCommands[args[0]] == useRun {
		args = args[min(1, len(args)):]
	}
	run, _, err := cmd.Root().Find([]string{"run"})
	if line != useRun || err != nil {
		return line
	}
	var lacks *pflag.ValueRequiredError
	if err := run.ParseFlags(args); err != nil && !errors.As(err, &lacks) {
		return line
	}
	words := make([]string, len(args))
	for i, arg := range args {
		if strings.Contains(arg, "=") { // it may be the value of a secret variable
			return line
		}
		words[i] = shellword.Quote(arg)
	}
	if lacks != nil {
		words = append(words, placeholder(lacks.GetFlag()))
	}
	return strings.TrimRight("use: sbx-devc run "+strings.Join(words, " "), " ")
}

// placeholder is a word that stands for a flag's value.
func placeholder(f *pflag.Flag) string {
	if name, _ := pflag.UnquoteUsage(f); name == strings.ToUpper(name) {
		return name
	}
	return "VALUE"
}

// Uncommanded is an error about a command line args of flags alone, which says what it may
// have been meant for.
func Uncommanded(root *cobra.Command, args []string) error {
	return exitcode.With(exitcode.Usage, diag.WithHint(errors.New("there is no command"), "%s; see '%s --help'",
		inFull(useRun, root, args), root.Name()))
}
