package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/connect"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/terminal"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session/runs"
)

func ExecCommand(a *cli.App) *cobra.Command {
	var w workerFlags
	cmd := &cobra.Command{
		Use:   "exec [RUN] -- COMMAND [ARG…]",
		Short: "Run a command in the sandbox of a run that goes on",
		Long: `Run COMMAND in the agent's container of RUN, a run's id or name; without RUN it is the
one that goes on in the project around the current folder, or the only one. It is the
agent's user there, without a privilege, behind the same firewall, and begins in the
agent's folder. It has your terminal when standard input and output are one, and ends
with the run or with this program, whichever ends first. In a run that is starting it
waits for the agent's begin.

With --json-lines it is a worker for another program: it reads one JSON request a line,
such as {"id":"1","op":"ensure"}, and answers in JSON lines; the sandbox is one of its own,
on DIR (default: the project around the current folder), with the flags of run. It ends
with its standard input. docs/worker.md has the protocol.

The exit code is COMMAND's own, or 64 usage, 66 no such run, 69 no engine.`,
		Example: `  sbx-devc exec -- git status
  sbx-devc exec fix-tests -- npm test
  sbx-devc exec --json-lines --workspace clone ~/src/app`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := w.check(); err != nil {
				return exitcode.With(exitcode.Usage, err)
			}
			if w.on {
				return w.serve(cmd.Context(), a, cmd, args)
			}
			at := cmd.ArgsLenAtDash()
			if at < 0 || at > 1 || at == len(args) {
				err := errors.New("exec takes the name of a run at most, and the command behind --")
				return exitcode.With(exitcode.Usage, diag.WithHint(err, "sbx-devc exec [RUN] -- COMMAND"))
			}
			run, err := projects.Going(a, args[:at])
			if err != nil {
				return err
			}
			return execute(cmd.Context(), a, run, args[at:])
		},
	}
	w.register(cmd)
	return cmd
}

func ShellCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "shell [RUN]",
		Short: "Start bash in the sandbox of a run that goes on",
		Long: `Start bash in the agent's container of RUN, as 'sbx-devc exec RUN -- bash -l' does.
'sbx-devc run --shell' starts a sandbox with a shell and no agent.`,
		Example: "  sbx-devc shell",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			run, err := projects.Going(a, args)
			if err != nil {
				return err
			}
			return execute(cmd.Context(), a, run, loginShell)
		},
	}
}

var loginShell = []string{"bash", "-l"}

// execute runs a command in the sandbox of a run, from streams to exit code.
func execute(ctx context.Context, a *cli.App, run runs.Run, command []string) error {
	o := sandbox.ExecOptions{Command: command, Environ: os.Environ(), Stdin: a.Stdin}
	var undoOut, undoErr func()
	o.Stdout, undoOut = ofSandbox(a.Stdout)
	defer undoOut()
	o.Stderr, undoErr = ofSandbox(a.Stderr)
	defer undoErr()
	if cli.IsTerminal(a.Stdin) && cli.IsTerminal(a.Stdout) {
		server := terminal.NewServer()
		o.Terminal = server
		here, there := net.Pipe()
		server.Serve(there, nil)
		client := terminal.Client{In: a.Stdin.(terminal.Input), Out: a.Stdout.(terminal.Output), Words: a.Stderr}
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
	if err := run.AwaitAgent(ctx); err != nil {
		return err
	}
	var code int
	err := connect.Engine(ctx, func(e *engine.Engine) (err error) {
		code, err = sandbox.Exec(ctx, e, run.ID, o)
		return err
	})
	switch {
	case errors.Is(err, sandbox.ErrNotRunning):
		return exitcode.With(exitcode.NoInput, err)
	case err != nil:
		return fmt.Errorf("running %s in the run %s: %w", command[0], run.ID, err)
	}
	return exitcode.With(code, nil)
}

// ofSandbox is out for a program of the sandbox: of what it writes to a terminal colours and
// the like pass, until they are undone.
func ofSandbox(out io.Writer) (to io.Writer, undo func()) {
	if !cli.IsTerminal(out) {
		return out, func() {}
	}
	filter := terminal.NewFilter(out)
	return filter, func() { _, _ = io.WriteString(out, filter.Undo()) }
}
