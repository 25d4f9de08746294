package run

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

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/connect"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/ask"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/hostprogram"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session/runs"
	"github.com/org/claude-sandbox/session/unconfined"
)

// SandboxFlags say whether there is a sandbox at all.
type SandboxFlags struct {
	on, off     bool
	Mode        string // of the variable alone
	acceptRisks bool
}

// ModeFlag is the hidden flag of the variable SBX_DEVC_SANDBOX_MODE.
const ModeFlag = "sandbox-mode"

func (o *SandboxFlags) Title() string { return "Without the sandbox" }

func (o *SandboxFlags) Register(f *pflag.FlagSet) {
	f.BoolVar(&o.on, "sandbox", false, "run in the sandbox, whatever sandbox_mode in your settings says (default)")
	f.BoolVar(&o.off, "no-sandbox", false,
		"run the claude of this machine without containers and firewall, after a warning and your answer")
	f.BoolVar(&o.acceptRisks, "accept-risks", false, "with --no-sandbox, where there is no terminal to ask on: you have read its warning")
	f.StringVar(&o.Mode, ModeFlag, "", "")
	f.Lookup(ModeFlag).Hidden = true
}

func (o *SandboxFlags) check(*pflag.FlagSet) error { return nil }

func (o *SandboxFlags) plan(*runplan.Options) {}

// SandboxChoice says whether the run that o describes has a sandbox. The user decides it by
// flag, variable or his own settings; nothing of the project is asked.
func SandboxChoice(a *cli.App, o *Options, named string) (unconfined.Choice, error) {
	if o.terminal.client != 0 { // a supervisor does runs in the sandbox alone
		return unconfined.Choice{}, nil
	}
	asked := unconfined.Asked{Sandbox: o.Sandbox.on, NoSandbox: o.Sandbox.off, Variable: o.Sandbox.Mode, VariableName: VariableOf(ModeFlag)}
	if !asked.Sandbox && !asked.NoSandbox && asked.Variable == "" {
		quiet := *a
		quiet.Stderr = io.Discard
		dir, _ := projects.RunDir(&quiet, named)
		_, file, err := ownSettings(a, dir)
		if err != nil {
			return unconfined.Choice{}, PlanError(a, err)
		}
		if file != nil {
			asked.Settings, asked.SettingsFile = file.Own.SandboxMode, file.Path
		}
	}
	choice, err := unconfined.Choose(asked)
	if err != nil {
		return choice, exitcode.With(exitcode.Usage, err)
	}
	return choice, nil
}

// acceptsRisks shows the warning and asks whether to go on without a sandbox: yes, or in
// the sandbox. Cancelling is an error, and so is a question that cannot be asked. A dry
// run needs no answer.
func acceptsRisks(ctx context.Context, a *cli.App, o *Options, choice unconfined.Choice) (without bool, err error) {
	if o.dryRun {
		return true, nil
	}
	for _, line := range choice.Warning() {
		a.SayLine("%s", line)
	}
	if o.Sandbox.acceptRisks {
		return true, nil
	}
	if !cli.IsTerminal(a.Stdin) || !cli.IsTerminal(a.Stderr) {
		return false, exitcode.With(exitcode.Refused, choice.Refused())
	}
	answer, err := ask.New(a.Stdin, a.Stderr).One(ctx, "Without a sandbox?", []ask.Option{
		{Value: "cancel", Label: "cancel"},
		{Value: "sandbox", Label: "go on in the sandbox, this time"},
		{Value: "none", Label: "go on without a sandbox: I accept the risks"},
	}, "cancel")
	switch {
	case err != nil && !errors.Is(err, ask.ErrEnded):
		return false, err
	case err != nil || answer == "cancel":
		return false, exitcode.With(exitcode.Refused, diag.WithHint(errors.New("cancelled: nothing was started"),
			"--sandbox runs it in the sandbox"))
	}
	return answer == "none", nil
}

// plainFlags are those of run's flags that mean something without a sandbox.
var plainFlags = []string{
	"sandbox", "no-sandbox", "accept-risks", ModeFlag, "print", "prompt-file", "continue", "resume", "model", "max-turns",
	"max-budget-usd", "append-system-prompt", "output-format", "summary-file", "name",
	"dry-run", connect.RuntimeFlag, // the last: of other runs
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
	return exitcode.With(exitcode.Usage, diag.WithHint(err, "leave it out, also as a variable such as %s; or have the sandbox: --sandbox",
		VariableOf(strings.TrimPrefix(idle[0], "--"))))
}

// runUnconfined starts the claude of this machine in place of a run in the sandbox. Its
// exit code is Claude's own.
func runUnconfined(a *cli.App, o Options, dir, folder string, choice unconfined.Choice) error {
	project := projects.Real(dir)
	program, err := unconfined.Find()
	if err != nil {
		return err
	}
	if _, file, err := ownSettings(a, dir); err != nil {
		return PlanError(a, err)
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
		return cli.PrintJSON(a.Stdout, struct {
			Sandbox string `json:"sandbox"`
			unconfined.Command
		}{"none", command})
	}
	streams := unconfined.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	result := &sandbox.Result{ID: runs.NewID(), Name: o.result.name, Folder: project,
		FolderIdentity: filekind.Identity(project), Outcome: choice.Outcome(), Warnings: choice.Warning()}
	if !o.terminal.on {
		prompt, err := readPrompt(a, o.prompt, project)
		if err != nil {
			return exitcode.With(exitcode.NoInput, err)
		}
		streams.In, result.Prompt = strings.NewReader(prompt), firstWords(prompt)
	}
	summary, err := o.result.openSummary(project)
	if err != nil {
		return err
	}
	if err := noteUnconfined(a, result); err != nil {
		return err
	}
	signals, stop := catchSignals()
	defer stop()
	forward := func(sig os.Signal) bool { return sig != syscall.SIGINT || !cli.IsTerminal(a.Stdin) } // a terminal sends it to both
	result.ExitCode, err = command.Run(unconfined.Environment(hostprogram.Environ(), a.Getenv), streams, signals, forward)
	a.SayLine("claude worked without a sandbox: nothing was recorded, and nothing can be reviewed or undone here")
	failure := errors.Join(err, noteUnconfined(a, result))
	if summary != nil {
		failure = errors.Join(failure, summary.Save(result, failure))
	}
	if failure != nil {
		return WithCode(failure)
	}
	return exitcode.With(result.ExitCode, nil)
}

// noteUnconfined writes down that there was such a run, where runs are listed.
func noteUnconfined(a *cli.App, result *sandbox.Result) error {
	folder, err := projects.Runs(a).Make(result.ID)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(folder, sandbox.SummaryFile), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return exitcode.With(exitcode.Internal, err)
	}
	return errors.Join(sandbox.WriteSummary(f, result, nil), f.Close())
}
