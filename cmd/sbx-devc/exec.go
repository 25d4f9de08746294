package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/terminal"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session/runs"
)

func (a *app) execCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "exec [RUN] -- COMMAND [ARG…]",
		Short: "Run a command in the sandbox of a run that goes on",
		Long: `Run COMMAND in the agent's container of RUN, a run's id or name; without RUN it is the
one that goes on in the project around the current folder, or the only one. It is the
agent's user there, without a privilege, behind the same firewall, and begins in the
agent's folder. It has your terminal when standard input and output are one, and ends
with the run or with this program, whichever ends first.

The exit code is COMMAND's own, or 64 usage, 66 no such run, 69 no engine.`,
		Example: `  sbx-devc exec -- git status
  sbx-devc exec fix-tests -- npm test`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			at := cmd.ArgsLenAtDash()
			if at < 0 || at > 1 || at == len(args) {
				err := errors.New("exec takes the name of a run at most, and the command behind --")
				return exitWith(exitUsage, diag.WithHint(err, "sbx-devc exec [RUN] -- COMMAND"))
			}
			run, err := a.goingRun(args[:at])
			if err != nil {
				return err
			}
			return a.exec(cmd.Context(), run, args[at:])
		},
	}
}

func (a *app) shellCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "shell [RUN]",
		Short: "Start bash in the sandbox of a run that goes on",
		Long: `Start bash in the agent's container of RUN, as 'sbx-devc exec RUN -- bash -l' does.
'sbx-devc run --shell' starts a sandbox with a shell and no agent.`,
		Example: "  sbx-devc shell",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			run, err := a.goingRun(args)
			if err != nil {
				return err
			}
			return a.exec(cmd.Context(), run, loginShell)
		},
	}
}

var loginShell = []string{"bash", "-l"}

// goingRun is the run that goes on and is meant: named by at most one argument, or of the
// project around the current folder.
func (a *app) goingRun(args []string) (runs.Run, error) {
	if len(args) == 1 {
		return a.runs().Going("", args[0])
	}
	project, err := a.projectAsked(false, nil)
	if err != nil {
		return runs.Run{}, err
	}
	return a.runs().Going(project, "")
}

// exec runs a command in the sandbox of a run, from streams to exit code.
func (a *app) exec(ctx context.Context, run runs.Run, command []string) error {
	o := sandbox.ExecOptions{Command: command, Environ: os.Environ(), Stdin: a.stdin}
	var undoOut, undoErr func()
	o.Stdout, undoOut = ofSandbox(a.stdout)
	defer undoOut()
	o.Stderr, undoErr = ofSandbox(a.stderr)
	defer undoErr()
	if isTerminal(a.stdin) && isTerminal(a.stdout) {
		server := terminal.NewServer()
		o.Terminal = server
		here, there := net.Pipe()
		server.Serve(there, nil)
		client := terminal.Client{In: a.stdin.(terminal.Input), Out: a.stdout.(terminal.Output), Words: a.stderr}
		left := make(chan struct{})
		go func() {
			defer close(left)
			client.Run(here)
		}()
		defer func() {
			server.Close(0)
			<-left
		}()
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		go func() { // Ctrl-P Ctrl-Q: the command ends with this program
			<-left
			cancel()
		}()
	}
	var code int
	err := withEngine(ctx, func(e *engine.Engine) (err error) {
		code, err = sandbox.Exec(ctx, e, run.ID, o)
		return err
	})
	switch {
	case errors.Is(err, sandbox.ErrNotRunning):
		return exitWith(exitNoInput, err)
	case err != nil:
		return fmt.Errorf("running %s in the run %s: %w", command[0], run.ID, err)
	}
	return exitWith(code, nil)
}

// ofSandbox is out for a program of the sandbox: of what it writes to a terminal colours and
// the like pass, until they are undone.
func ofSandbox(out io.Writer) (to io.Writer, undo func()) {
	if !isTerminal(out) {
		return out, func() {}
	}
	filter := terminal.NewFilter(out)
	return filter, func() { _, _ = io.WriteString(out, filter.Undo()) }
}
