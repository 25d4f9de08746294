package policy

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/firewall/report"
	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// reportOptions are the flags of report.
type reportOptions struct {
	format string
	output string
	denied bool
	all    bool
}

// reportFormats are the forms of a report, and the endings of files in them.
var reportFormats = map[string]string{"text": ".txt", "json": ".json", "markdown": ".md", "html": ".html"}

func ReportCommand(a *cli.App) *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "report [RUN | FOLDER | FILE]…",
		Short: "Summarise allowed and refused destinations, with the lines that would open them",
		Long: `Sum up a run's audit log: first the denied destinations, each with the line that would
open it, then the allowed ones, then the requests that each key of the run went with.
The run is the newest one of the project in the current folder (with --all: of any
project), or the one with the id RUN or in FOLDER. Where FOLDER is a project, its dev
container is asked, or its newest run is taken where it has none; for the current
folder it is the other way round. FILE is an audit.jsonl. A line is offered only if
the matcher that enforces the policy says that it would open the destination.

The HTML form is one file that loads nothing. Every run leaves one in its folder.

Exit code 64: wrong usage; 65: it is no audit log; 66: there is no such log;
73: the report could not be written.`,
		Example: `  sbx-devc report
  sbx-devc report --denied 20260102-150405-ab12cd
  sbx-devc report --output report.html
  sbx-devc report --format markdown >>"$GITHUB_STEP_SUMMARY"`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return writeReport(cmd.Context(), a, o, args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "", "text, json, markdown or html (default: by --output's ending, else text)")
	f.StringVarP(&o.output, "output", "o", "", "write to this file instead of standard output")
	f.BoolVar(&o.denied, "denied", false, "only denied destinations")
	f.BoolVar(&o.all, "all", false, "without a name: the newest run of any project")
	return cmd
}

func writeReport(ctx context.Context, a *cli.App, o reportOptions, args []string) error {
	format, err := o.form()
	if err != nil {
		return exitcode.With(exitcode.Usage, err)
	}
	project, err := projects.OfRuns(a, o.all, args)
	if err != nil {
		return err
	}
	log, records, err := projects.Runs(a).ReadLogs(ctx, args, project)
	if err != nil {
		return err
	}
	r := report.New(records, log.Policy)
	r.SetKeys(log.Keys)
	if o.denied {
		r = r.Denied()
	}
	title := log.Title
	run, err := projects.Runs(a).Named(log.Title)
	isRun := err == nil && run.Project != ""
	if isRun {
		title = run.String()
	}
	write := func(w io.Writer) error {
		switch format {
		case "json":
			return r.WriteJSON(w)
		case "markdown":
			return r.WriteMarkdown(w)
		case "html":
			return r.WriteHTML(w, title)
		}
		if isRun {
			if _, err := fmt.Fprintf(w, "%s\n\n", title); err != nil {
				return err
			}
			return r.WriteRunText(w, projects.Flag(run.Settings))
		}
		return r.WriteText(w)
	}
	if o.output == "" {
		err = write(a.Stdout)
	} else {
		err = atomicfile.Write(o.output, 0o644, write)
	}
	if err != nil {
		return exitcode.With(exitcode.CantWrite, fmt.Errorf("writing the report: %w", err))
	}
	return nil
}

// form is the format that the flags ask for.
func (o reportOptions) form() (string, error) {
	if o.format != "" {
		if _, ok := reportFormats[o.format]; !ok {
			return "", cli.UnknownValue("format", o.format, "text", "json", "markdown", "html")
		}
		return o.format, nil
	}
	for format, ending := range reportFormats {
		if o.output != "" && strings.EqualFold(filepath.Ext(o.output), ending) {
			return format, nil
		}
	}
	return "text", nil
}
