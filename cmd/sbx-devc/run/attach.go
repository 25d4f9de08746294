package run

import (
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/terminal"
	"github.com/org/claude-sandbox/session/supervisor"
)

func AttachCommand(a *cli.App) *cobra.Command {
	var clipboard bool
	cmd := &cobra.Command{
		Use:   "attach [RUN]",
		Short: "Give your terminal to a run that goes on",
		Long: `Show the interface of RUN, a run's id or name, on your terminal; without RUN it is the
run that goes on in the project around the current folder, or the only one. Ctrl-P
Ctrl-Q leaves it running again. A terminal that has the run loses it to yours.

The exit code is the run's, when it ends here. 66: no such run goes on, or it has no
terminal because it answers a prompt; 'sbx-devc logs -f' shows that one.`,
		Example: `  sbx-devc run --detach
  sbx-devc attach`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return attach(a, clipboard, args) },
	}
	cmd.Flags().BoolVar(&clipboard, "clipboard", false, clipboardHelp)
	return cmd
}

func attach(a *cli.App, clipboard bool, args []string) error {
	if !cli.IsTerminal(a.Stdin) || !cli.IsTerminal(a.Stdout) {
		return exitcode.With(exitcode.Usage, diag.WithHint(errors.New("attach needs a terminal"), "'sbx-devc logs -f' shows a run anywhere"))
	}
	run, err := projects.Going(a, args)
	if err != nil {
		return err
	}
	conn, err := net.Dial("unix", run.Socket())
	if err != nil {
		return exitcode.With(exitcode.NoInput, diag.WithHint(fmt.Errorf("the run %s has no terminal to join: %w", run.ID, err),
			"see what it does: sbx-devc logs -f %s", run.ID))
	}
	c := client(a, clipboard)
	signals, stop := catchSignals()
	defer stop()
	c.Signals = signals
	how, err := supervisor.Follow(c, conn)
	if how == terminal.Lost {
		return exitcode.With(exitcode.Internal, fmt.Errorf("the supervisor of the run %s is gone", run.ID))
	}
	return err
}
