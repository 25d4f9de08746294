package history

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/session/runs"
)

func StopCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "stop [RUN]",
		Short: "End a run that goes on, as Ctrl-C does",
		Long: `End RUN, a run's id or name; without RUN it is the one that goes on in the project
around the current folder, or the only one. The agent may finish its sentence; the work,
the commits, the report and the conversation stay, as at every end.

Exit code 66: no such run goes on.`,
		Example: "  sbx-devc stop fix-tests",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return stop(cmd.Context(), a, args) },
	}
}

func stop(ctx context.Context, a *cli.App, args []string) error {
	run, err := projects.Going(a, args)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Stderr, "sbx-devc: stopping %s\n", run)
	if err := run.Stop(ctx); err != nil {
		return err
	}
	fmt.Fprintf(a.Stderr, "sbx-devc: stopped; %s\n", afterStop(run))
	return nil
}

// afterStop is what a person does with the work of a run that was stopped.
func afterStop(run runs.Run) string {
	if w, err := runs.WorkOf(run.Folder); err == nil && len(w.Commits) > 0 { // which diff does not take
		return "to look at its work and take it, with its commits: sbx-devc apply " + run.ID
	}
	return "to see its changes: sbx-devc diff " + run.ID
}
