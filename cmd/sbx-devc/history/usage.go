package history

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/session/runs"
)

func UsageCommand(a *cli.App) *cobra.Command {
	var o lsOptions
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Add up what the runs of a project used of the model",
		Long: `Add up the tokens and the cost at list price of the runs of the project around the
current folder, as the proxy on this machine metered them; --all: of all projects. A
run counts when it has ended, and while it is kept.`,
		Example: "  sbx-devc usage --all --json",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return usage(a, o) },
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "the runs of all projects")
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func usage(a *cli.App, o lsOptions) error {
	project, err := projects.OfRuns(a, o.all, nil)
	if err != nil {
		return err
	}
	list := projects.Runs(a).List(project)
	total := runs.Sum(list)
	if o.json {
		return cli.PrintJSON(a.Stdout, struct {
			SchemaVersion int             `json:"schemaVersion"`
			Runs          int             `json:"runs"`
			Metered       credproxy.Usage `json:"metered"`
			CostUSD       float64         `json:"costUsd"`
		}{1, len(list), total.Metered, total.CostUSD})
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "RUN\tANSWERS\tINPUT\tOUTPUT\tCACHE READ\tCACHE WRITTEN\tCOST\t")
	total.ID = visible.Count(len(list), "run")
	for _, r := range append(list, total) {
		m := r.Metered
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t$%.2f\t\n", r.ID, m.Requests, m.Input, m.Output, m.CacheRead, m.CacheWrite, r.CostUSD)
	}
	return w.Flush()
}
