package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) stopCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stop [RUN]",
		Short: "End a run that goes on, as Ctrl-C does",
		Long: `End RUN, a run's id or name; without RUN it is the one that goes on in the project
around the current folder, or the only one. The agent may finish its sentence; the work,
the commits, the report and the conversation stay, as at every end.

Exit code 66: no such run goes on.`,
		Example: "  sbx-devc stop fix-tests",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.stop(cmd.Context(), args) },
	}
}

func (a *app) stop(ctx context.Context, args []string) error {
	run, err := a.goingRun(args)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "sbx-devc: stopping %s\n", run)
	if err := a.runs().Stop(ctx, run); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "sbx-devc: stopped; what it left: sbx-devc diff %s\n", run.ID)
	return nil
}
