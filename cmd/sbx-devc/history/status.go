package history

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/session/runs"
)

func StatusCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status [RUN]",
		Short: "Say what a run does, or how it ended",
		Long: `Show the state of RUN, a run's id or name; without RUN it is the newest one of the
project around the current folder, and one that goes on comes before one that has ended.

Exit code 66: there is no such run.`,
		Example: `  sbx-devc status
  sbx-devc status --json fix-tests | jq -r .result`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return status(a, args, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func status(a *cli.App, args []string, asJSON bool) error {
	run, err := statusOf(a, args)
	if err != nil {
		return err
	}
	if asJSON {
		return cli.PrintJSON(a.Stdout, struct {
			SchemaVersion int `json:"schemaVersion"`
			runs.Run
		}{1, run})
	}
	cost := costOf(run) + " at list price"
	switch {
	case run.GoesOn():
		cost = "known when the run has ended"
	case run.Result == string(agent.Unsandboxed):
		cost = "not known: the run had no sandbox"
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 8, 2, ' ', 0)
	for _, row := range [][2]string{
		{"run", run.ID}, {"name", run.Name}, {"project", run.Project}, {"result", run.Outcome()},
		{"began", fmt.Sprintf("%s (%s ago)", run.Began.Local().Format(time.DateTime), time.Since(run.Began).Round(time.Second))},
		{"prompt", run.Prompt}, {"model", run.Model}, {"cost", cost},
		{"conversation", run.SessionID}, {"files", run.Folder},
	} {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], visible.Line(row[1]))
		}
	}
	return w.Flush()
}

// statusOf is the run that is asked about.
func statusOf(a *cli.App, args []string) (runs.Run, error) {
	project, name, err := projects.Meant(a, args)
	switch {
	case err != nil:
		return runs.Run{}, err
	case name != "":
		return projects.Runs(a).Named(name)
	}
	return projects.Runs(a).Latest(project)
}
