package history

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/session/runs"
)

// lsOptions are the flags of ls.
type lsOptions struct{ all, json bool }

func LsCommand(a *cli.App) *cobra.Command {
	var o lsOptions
	cmd := &cobra.Command{
		Use:   "ls [DIR]",
		Short: "List the runs of a project",
		Long: `List the runs of the project in DIR (default: the project around the current folder),
the newest first: when each began, its prompt's first words, model, cost at list
price and result. --all lists those of all projects.

logs, report, diff, apply, exec, status, stop and run --resume take a run's id or
its name, which run --name gives.`,
		Example: `  sbx-devc ls
  sbx-devc ls --all --json | jq '.runs[] | select(.result != "success")'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return ls(a, o, args) },
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "the runs of all projects")
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func ls(a *cli.App, o lsOptions, args []string) error {
	project, err := projects.OfRuns(a, o.all, args)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		project = projects.Real(args[0])
	}
	list := projects.Runs(a).List(project)
	if len(args) > 0 && len(list) == 0 && !filekind.IsFolder(project) { // of a folder that is gone the runs are still there
		return noFolder(a, args[0])
	}
	if o.json {
		return cli.PrintJSON(a.Stdout, struct {
			SchemaVersion int        `json:"schemaVersion"`
			Runs          []runs.Run `json:"runs"`
		}{1, append([]runs.Run{}, list...)})
	}
	if len(list) == 0 {
		fmt.Fprintf(a.Stderr, "sbx-devc: no runs of %s\n", visible.Line(cmp.Or(project, "any project")))
		return nil
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 8, 2, ' ', 0)
	head, name := "RUN\tBEGAN\t", func(runs.Run) string { return "" }
	of := name
	if slices.ContainsFunc(list, func(r runs.Run) bool { return r.Name != "" }) {
		head, name = head+"NAME\t", func(r runs.Run) string { return inList(r.Name) + "\t" }
	}
	if o.all {
		head, of = head+"PROJECT\t", func(r runs.Run) string { return inList(r.Project) + "\t" }
	}
	fmt.Fprintln(w, head+"PROMPT\tMODEL\tCOST\tRESULT")
	for _, r := range list {
		fmt.Fprintf(w, "%s\t%s\t%s%s%s\t%s\t%s\t%s\n", r.ID, r.Began.Local().Format(time.DateTime), name(r), of(r), inList(r.Prompt),
			inList(r.Model), costOf(r), inList(r.Outcome()))
	}
	return w.Flush()
}

// noFolder is the error of a word that names no project; it may name a run.
func noFolder(a *cli.App, word string) error {
	if _, err := projects.Runs(a).Named(word); err == nil {
		return exitcode.With(exitcode.NoInput, diag.WithHint(fmt.Errorf("ls takes the folder of a project, and %s is a run", word),
			"sbx-devc status %s", word))
	}
	err := &fs.PathError{Op: "open", Path: word, Err: fs.ErrNotExist}
	if filekind.IsRegular(word) {
		err.Err = syscall.ENOTDIR
	}
	return exitcode.With(exitcode.NoInput, err)
}

// costOf is what a run cost at list price, "-" when that is not known.
func costOf(r runs.Run) string {
	if r.GoesOn() || r.Result == string(agent.Unsandboxed) {
		return "-"
	}
	return fmt.Sprintf("$%.2f", r.CostUSD)
}

// maxInList bounds the words of a column, in runes.
const maxInList = 50

// inList makes words fit a column: they may be the agent's.
func inList(words string) string {
	text := []rune(visible.Line(words))
	if len(text) > maxInList {
		text = append(text[:maxInList-1], '…')
	}
	return cmp.Or(string(text), "-")
}
