package history

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"
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
	rows := table(list, o.all)
	if cli.IsTerminal(a.Stdout) {
		fit(rows, a.Columns())
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 8, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

const promptTitle = "PROMPT"

// table is the list in columns, the titles first. all has a column for projects.
func table(list []runs.Run, all bool) (rows [][]string) {
	named := slices.ContainsFunc(list, func(r runs.Run) bool { return r.Name != "" })
	row := func(id, began, name, project string, rest ...string) {
		cells := []string{id, began}
		if named {
			cells = append(cells, name)
		}
		if all {
			cells = append(cells, project)
		}
		rows = append(rows, append(cells, rest...))
	}
	row("RUN", "BEGAN", "NAME", "PROJECT", promptTitle, "MODEL", "COST", "RESULT")
	for _, r := range list {
		row(r.ID, r.Began.Local().Format(time.DateTime), inList(r.Name), inList(r.Project), inList(r.Prompt), inList(r.Model), costOf(r),
			inList(r.Outcome()))
	}
	return rows
}

// leastPrompt is how much of a prompt is shown on any screen, in runes.
const leastPrompt = 12

// fit shortens prompts so that the table has at most so many columns of a screen, if it can;
// 0 = as many as it likes.
func fit(rows [][]string, columns int) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	all := 2 * (len(widths) - 1) // the gaps
	for _, w := range widths {
		all += w
	}
	at := slices.Index(rows[0], promptTitle)
	if columns == 0 || all <= columns {
		return
	}
	for _, row := range rows {
		row[at] = shortened(row[at], max(leastPrompt, widths[at]-(all-columns)))
	}
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
func inList(words string) string { return cmp.Or(shortened(visible.Line(words), maxInList), "-") }

// shortened is a text of at most so many runes.
func shortened(words string, most int) string {
	text := []rune(words)
	if len(text) > most {
		text = append(text[:most-1], '…')
	}
	return string(text)
}
