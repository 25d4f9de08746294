package run

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/runs"
)

// resultFlags say what stays of a run, and by which name.
type resultFlags struct {
	name        string
	keep        runs.Keep
	summaryFile string
	commit      bool
}

func (o *resultFlags) Title() string { return "What stays of the run" }

func (o *resultFlags) Register(f *pflag.FlagSet) {
	f.StringVar(&o.name, "name", "", "a name by which other commands find the run, such as fix-tests")
	f.IntVar(&o.keep.Runs, "keep-runs", runs.DefaultKeep.Runs, "keep so many of the newest runs on this machine")
	f.IntVar(&o.keep.Days, "keep-days", runs.DefaultKeep.Days, "keep runs for so many days")
	f.StringVar(&o.summaryFile, "summary-file", "", "write what happened as JSON to this file")
	f.BoolVar(&o.commit, "commit", false, "also commit what is not committed at the end, on the agent's branch; your index and "+
		"files stay as they are")
}

func (o *resultFlags) check(f *pflag.FlagSet) error {
	if f.Changed("name") {
		if err := runs.CheckName(o.name); err != nil {
			return err
		}
	}
	return limitsLimit(f, "keep-runs", "keep-days")
}

func (o *resultFlags) plan(p *runplan.Options) { p.Name, p.CommitLeft = o.name, o.commit }

// openSummary opens the file for the summary, nil = none is wanted. A file that cannot
// be written is found before the run has been paid for.
func (o *resultFlags) openSummary(project string) (*session.SummaryFile, error) {
	if o.summaryFile == "" {
		return nil, nil
	}
	summary, err := session.OpenSummary(o.summaryFile, project)
	if err != nil {
		return nil, exitcode.With(exitcode.NoInput, fmt.Errorf("--summary-file: %w", err))
	}
	return summary, nil
}

// exitOfRun is the error that carries a run's exit code. err is why the run could not be
// done, nil = it was.
func exitOfRun(a *cli.App, result *sandbox.Result, err error) error {
	switch {
	case err != nil:
		return WithCode(err)
	case !result.Outcome.OK():
		return exitcode.With(result.ExitCode, errors.New(result.Outcome.Message))
	case errors.Is(result.Lost, syscall.EPIPE):
		a.SayLine("note: the reader of the output left; the agent did its work, and all that it said is in %s", result.Files.Transcript)
		return exitcode.With(result.ExitCode, nil)
	case result.Lost != nil:
		err := fmt.Errorf("the output could not be passed on: %w", result.Lost)
		return exitcode.With(result.ExitCode, diag.WithHint(err, "the agent did its work; all that it said is in %s", result.Files.Transcript))
	}
	return exitcode.With(result.ExitCode, nil)
}
