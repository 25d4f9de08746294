package history

import (
	"cmp"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/session/runs"
)

func StatusCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status [RUN]",
		Short: "Say what a run does, or how it ended",
		Long: `Say what is known of RUN, a run's id or name; without RUN it is the newest one of the
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
	switch run.Result {
	case runs.Running:
		cost = "known when the run has ended"
	case string(agent.Unsandboxed):
		cost = "not known: the run had no sandbox"
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 8, 2, ' ', 0)
	for _, row := range [][2]string{
		{"run", run.ID}, {"name", run.Name}, {"project", run.Project}, {"result", run.Result},
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
	if len(args) == 1 {
		run, ok := projects.Runs(a).Run(projects.Runs(a).Find(args[0]))
		if !ok || run.Project == "" {
			return runs.Run{}, projects.Runs(a).Unknown("run", args[0])
		}
		return run, nil
	}
	project, err := projects.OfRuns(a, false, nil)
	if err != nil {
		return runs.Run{}, err
	}
	list := projects.Runs(a).List(project)
	for _, run := range list {
		if run.Result == runs.Running {
			return run, nil
		}
	}
	if len(list) == 0 {
		err := fmt.Errorf("there is no run of %s", cmp.Or(project, "any project"))
		return runs.Run{}, exitcode.With(exitcode.NoInput, diag.WithHint(err, "'sbx-devc ls --all' lists the runs"))
	}
	return list[0], nil
}
