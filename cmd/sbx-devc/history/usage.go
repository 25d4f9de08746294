package history

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/session/ledger"
	"github.com/org/claude-sandbox/session/runs"
)

// usageOptions are the flags of usage.
type usageOptions struct {
	lsOptions
	by   string
	days int
}

func UsageCommand(a *cli.App) *cobra.Command {
	var o usageOptions
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Add up the model usage of a project's runs",
		Long: `Add up the tokens and the cost at list price of the runs of the project around the
current folder, as the proxy on this machine metered them; --all: of all projects. By
run it shows those that have ended and are kept; by model, day or project all that was
used in the last --days days, also by runs that go on or were removed.`,
		Example: "  sbx-devc usage --all --json\n  sbx-devc usage --all --by day",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return usage(a, o) },
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "the runs of all projects")
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	cmd.Flags().StringVar(&o.by, "by", string(runs.ByRun), "a row for each run, model, day or project")
	cmd.Flags().IntVar(&o.days, "days", 30, "how many days back, today too; for other rows than runs")
	return cmd
}

func usage(a *cli.App, o usageOptions) error {
	by := ledger.By(o.by)
	switch {
	case !slices.Contains([]ledger.By{runs.ByRun, ledger.ByModel, ledger.ByDay, ledger.ByProject}, by):
		return exitcode.With(exitcode.Usage, diag.WithHint(fmt.Errorf("--by %q is not known", o.by), "accepted: run, model, day, project"))
	case o.days < 1 || o.days > runs.LedgerDays:
		return exitcode.With(exitcode.Usage, diag.WithHint(fmt.Errorf("--days %d is out of range", o.days), "give 1 to %d", runs.LedgerDays))
	}
	project, err := projects.OfRuns(a, o.all, nil)
	if err != nil {
		return err
	}
	rows, err := projects.Runs(a).Usage(project, by, time.Now().AddDate(0, 0, 1-o.days))
	if err != nil {
		return exitcode.With(exitcode.Internal, err)
	}
	return printUsage(a, o, rows)
}

func printUsage(a *cli.App, o usageOptions, rows []ledger.Row) error {
	total := ledger.Total(visible.Count(len(rows), o.by), rows)
	if o.json {
		report := struct {
			SchemaVersion int             `json:"schemaVersion"`
			Runs          *int            `json:"runs,omitempty"`
			Metered       credproxy.Usage `json:"metered"`
			CostUSD       float64         `json:"costUsd"`
			Rows          []ledger.Row    `json:"rows"`
		}{1, nil, total.Usage, total.USD, append([]ledger.Row{}, rows...)}
		if o.by == string(runs.ByRun) {
			n := len(rows)
			report.Runs = &n
		}
		return cli.PrintJSON(a.Stdout, report)
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, strings.ToUpper(o.by)+"\tANSWERS\tINPUT\tOUTPUT\tCACHE READ\tCACHE WRITTEN\tCOST\t")
	for _, r := range append(rows, total) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t$%.2f\t\n",
			visible.Line(r.Key), r.Requests, r.Input, r.Output, r.CacheRead, r.CacheWrite, r.USD)
	}
	return w.Flush()
}
