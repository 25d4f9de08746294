package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// Exit codes, see docs/cli.md. Checks end with 0 clean, 1 findings, 2 usage
// or 3 could not check; run uses the codes of sysexits(3) and Claude's own.
const (
	exitOK          = 0
	exitFindings    = 1
	exitFailed      = exitcode.Failed // of other commands: the work itself failed, such as a step of a Dockerfile
	exitCheckUsage  = 2
	exitNoCheck     = 3
	exitUsage       = exitcode.Usage
	exitConfig      = exitcode.Config
	exitNoInput     = exitcode.NoInput
	exitUnavailable = exitcode.Unavailable
	exitInternal    = exitcode.Internal
	exitCantWrite   = exitcode.CantWrite
	exitLocked      = exitcode.Locked
	exitRefused     = exitcode.Refused
	exitNoSecret    = exitcode.NoSecret
	exitTimeout     = exitcode.Timeout
	exitNoStart     = exitcode.NoStart
	exitSignal      = exitcode.Signal
)

// exitWith ends the command with code; a nil err prints nothing.
func exitWith(code int, err error) error { return exitcode.With(code, err) }

// main runs the command line args and returns the exit code.
func (a *app) main(ctx context.Context, args []string) int {
	out := &results{to: a.stdout}
	own := *a
	own.stdout, own.args = out, args
	root := own.root()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	var exit *exitcode.Error
	var file *fs.PathError
	var by interrupted
	lost := out.lost()
	if said := errors.As(err, &exit) && exit.Err != nil && !errors.Is(err, lost); said || cmd.Annotations[annotationOwnOutput] != "" {
		lost = nil // there is something more important to say, or the command says it
	}
	switch {
	case errors.Is(lost, syscall.EPIPE):
		// Whoever reads has seen enough, as head does: no failure to speak of.
		return exitSignal + int(syscall.SIGPIPE)
	case lost != nil:
		exit = &exitcode.Error{Code: exitCantWrite, Err: fmt.Errorf("writing standard output: %w", lost)}
		if usageCode(cmd) == exitCheckUsage {
			exit.Code = exitNoCheck
		}
	case err == nil:
		return exitOK
	case errors.Is(err, context.Canceled) && errors.As(context.Cause(ctx), &by):
		exit = &exitcode.Error{Code: by.code(), Err: by}
	case errors.As(err, &exit):
	case errors.As(err, &file):
		exit = &exitcode.Error{Code: exitInternal, Err: err}
	default:
		// An unknown command or flag, a wrong number of arguments, a flag's value.
		exit = &exitcode.Error{Code: usageCode(cmd), Err: usageError(cmd, err)}
	}
	if exit.Err != nil {
		a.printError(exit.Err)
		if wantsJSON(args) {
			answerError(a.stdout, exit.Err)
		}
	}
	return exit.Code
}

// printError is the one place that shows an error to a person.
func (a *app) printError(err error) { diag.WriteError(a.stderr, "sbx-devc", withHint(err)) }

// withHint adds the hint that the operating system's errors leave open.
func withHint(err error) error {
	if hint := hintForPath(err); hint != "" {
		return diag.OrHint(err, "%s", hint)
	}
	return err
}

// annotationChecker marks commands whose exit codes are those of a check.
const annotationChecker = "checker"

// annotationOwnOutput marks commands that say themselves what was lost of their
// output, and whose exit code is somebody else's.
const annotationOwnOutput = "own output"

func usageCode(cmd *cobra.Command) int {
	for c := cmd; c != nil; c = c.Parent() {
		if _, ok := c.Annotations[annotationChecker]; ok {
			return exitCheckUsage
		}
	}
	return exitUsage
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "sbx-devc",
		Version:       programVersion(),
		Short:         "Let Claude Code work freely in a sandbox that it cannot undo",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		a.initCommand(),
		a.updateCommand(),
		a.cleanCommand(),
		a.profileCommand(),
		a.loginCommand(),
		a.logoutCommand(),
		a.driftCommand(),
		a.lockCommand(),
		a.templatesCommand(),
		a.validateCommand(),
		a.fixCommand(),
		a.rulesCommand(),
		a.explainCommand(),
		a.effectiveCommand(),
		a.policyCommand(),
		a.allowCommand(),
		a.denyCommand(),
		a.presetCommand(),
		a.versionCommand(),
		a.imageCommand(),
		a.sandboxCommand(),
		a.runCommand(),
		a.trustCommand(),
		a.settingsCommand(),
		a.diffCommand(),
		a.reviewCommand(),
		a.applyCommand(),
		a.discardCommand(),
		a.reportCommand(),
		a.logsCommand(),
		a.lsCommand(),
		a.statusCommand(),
		a.attachCommand(),
		a.execCommand(),
		a.shellCommand(),
		a.stopCommand(),
		a.usageCommand(),
		a.doctorCommand(),
		a.demoCommand(),
		a.actionCommand(),
	)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetHelpCommand(helpCommand())
	completeValues(root)
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil { // a shell that it does not know is an error, not a page of help
		c.Args, c.RunE = cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	typeArguments(root)
	return root
}
