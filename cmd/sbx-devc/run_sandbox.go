package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/internal/ask"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session/runs"
	"github.com/org/claude-sandbox/session/unconfined"
)

// sandboxFlags say whether there is a sandbox at all.
type sandboxFlags struct {
	on, off     bool
	mode        string // of the variable alone
	acceptRisks bool
}

// modeFlag is the hidden flag of the variable SBX_DEVC_SANDBOX_MODE.
const modeFlag = "sandbox-mode"

func (o *sandboxFlags) title() string { return "Without the sandbox" }

func (o *sandboxFlags) register(f *pflag.FlagSet) {
	f.BoolVar(&o.on, "sandbox", false, "run in the sandbox, whatever sandbox_mode in your settings says (default)")
	f.BoolVar(&o.off, "no-sandbox", false,
		"run the claude of this machine without containers and firewall, after a warning and your answer")
	f.BoolVar(&o.acceptRisks, "accept-risks", false, "with --no-sandbox where nobody can be asked: you have read its warning")
	f.StringVar(&o.mode, modeFlag, "", "")
	f.Lookup(modeFlag).Hidden = true
}

func (o *sandboxFlags) check(*pflag.FlagSet) error { return nil }

func (o *sandboxFlags) plan(*sandbox.Options) {}

// sandboxChoice says whether the run that o describes has a sandbox. The user decides it by
// flag, variable or his own settings; nothing of the project is asked.
func (a *app) sandboxChoice(o *runOptions, named string) (unconfined.Choice, error) {
	if o.terminal.client != 0 { // a supervisor does runs in the sandbox alone
		return unconfined.Choice{}, nil
	}
	asked := unconfined.Asked{Sandbox: o.sandbox.on, NoSandbox: o.sandbox.off, Variable: o.sandbox.mode, VariableName: variableOf(modeFlag)}
	if !asked.Sandbox && !asked.NoSandbox && asked.Variable == "" {
		quiet := *a
		quiet.stderr = io.Discard
		dir, _ := quiet.runDir(named)
		_, file, err := a.ownSettings(dir)
		if err != nil {
			return unconfined.Choice{}, a.planError(err)
		}
		if file != nil {
			asked.Settings, asked.SettingsFile = file.Own.SandboxMode, file.Path
		}
	}
	choice, err := unconfined.Choose(asked)
	if err != nil {
		return choice, exitWith(exitUsage, err)
	}
	return choice, nil
}

// acceptsRisks shows the warning and asks whether to go on without a sandbox: yes, or in
// the sandbox. Cancelling is an error, and so is a question that cannot be asked.
func (a *app) acceptsRisks(ctx context.Context, o *sandboxFlags, choice unconfined.Choice) (without bool, err error) {
	for _, line := range choice.Warning() {
		a.sayLine("%s", line)
	}
	if o.acceptRisks {
		return true, nil
	}
	if !isTerminal(a.stdin) || !isTerminal(a.stderr) {
		return false, exitWith(exitRefused, choice.Refused())
	}
	answer, err := ask.New(a.stdin, a.stderr).One(ctx, "Without a sandbox?", []ask.Option{
		{Value: "cancel", Label: "cancel"},
		{Value: "sandbox", Label: "go on in the sandbox, this time"},
		{Value: "none", Label: "go on without a sandbox: I accept the risks"},
	}, "cancel")
	switch {
	case err != nil && !errors.Is(err, ask.ErrEnded):
		return false, err
	case err != nil || answer == "cancel":
		return false, exitWith(exitRefused, diag.WithHint(errors.New("cancelled: nothing was started"), "--sandbox runs it in the sandbox"))
	}
	return answer == "none", nil
}

// plainFlags are those of run's flags that mean something without a sandbox.
var plainFlags = []string{
	"sandbox", "no-sandbox", "accept-risks", modeFlag, "print", "prompt-file", "continue", "resume", "model", "max-turns",
	"max-budget-usd", "append-system-prompt", "output-format", "summary-file", "name", "dry-run", runtimeFlag, // the last: of other runs
}

// onlyPlain refuses flags that would do nothing: their user relies on them.
func onlyPlain(f *pflag.FlagSet) error {
	var idle []string
	f.Visit(func(flag *pflag.Flag) {
		if !slices.Contains(plainFlags, flag.Name) {
			idle = append(idle, "--"+flag.Name)
		}
	})
	if len(idle) == 0 {
		return nil
	}
	err := fmt.Errorf("without a sandbox %s would do nothing", strings.Join(idle, ", "))
	return exitWith(exitUsage, diag.WithHint(err, "leave it out, also as a variable such as %s; or have the sandbox: --sandbox",
		variableOf(strings.TrimPrefix(idle[0], "--"))))
}

// runUnconfined starts the claude of this machine in place of a run in the sandbox. Its
// exit code is Claude's own.
func (a *app) runUnconfined(o runOptions, dir, folder string, choice unconfined.Choice) error {
	project := real(dir)
	program, err := unconfined.Find(project)
	if err != nil {
		return err
	}
	if _, file, err := a.ownSettings(dir); err != nil {
		return a.planError(err)
	} else if file != nil {
		o.agent.model = cmp.Or(o.agent.model, file.Own.Model)
	}
	session := unconfined.Session{
		Headless: !o.terminal.on, OutputFormat: o.output.format, Model: o.agent.model, MaxTurns: o.agent.maxTurns,
		MaxBudgetUSD: o.agent.maxBudgetUSD, SystemPrompt: o.agent.systemPrompt, Continue: o.prompt.goOn, Resume: o.prompt.resume,
		Arguments: o.agent.arguments,
	}
	command := unconfined.Command{Program: program, Args: session.Args(), Dir: filepath.Join(project, folder)}
	if o.dryRun {
		return printJSON(a.stdout, struct {
			Sandbox string `json:"sandbox"`
			unconfined.Command
		}{"none", command})
	}
	streams := unconfined.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	result := &sandbox.Result{ID: runs.NewID(), Name: o.result.name, Folder: project, Outcome: choice.Outcome(), Warnings: choice.Warning()}
	if !o.terminal.on {
		prompt, err := a.readPrompt(o.prompt, project)
		if err != nil {
			return exitWith(exitNoInput, err)
		}
		streams.In, result.Prompt = strings.NewReader(prompt), firstWords(prompt)
	}
	summary, err := o.result.openSummary(project)
	if err != nil {
		return err
	}
	if err := a.noteUnconfined(result); err != nil {
		return err
	}
	signals, stop := catchSignals()
	defer stop()
	forward := func(sig os.Signal) bool { return sig != syscall.SIGINT || !isTerminal(a.stdin) } // a terminal sends it to both
	result.ExitCode, err = command.Run(unconfined.Environment(os.Environ(), a.getenv), streams, signals, forward)
	a.sayLine("claude worked without a sandbox: nothing was recorded, and nothing can be reviewed or undone here")
	failure := errors.Join(err, a.noteUnconfined(result))
	if summary != nil {
		failure = errors.Join(failure, summary.Save(result, failure))
	}
	if failure != nil {
		return runError(failure)
	}
	return exitWith(result.ExitCode, nil)
}

// noteUnconfined writes down that there was such a run, where runs are listed.
func (a *app) noteUnconfined(result *sandbox.Result) error {
	folder, err := a.runs().Make(result.ID)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(folder, sandbox.SummaryFile), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return exitWith(exitInternal, err)
	}
	return errors.Join(sandbox.WriteSummary(f, result, nil), f.Close())
}
