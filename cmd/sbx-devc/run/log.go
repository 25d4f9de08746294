package run

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session/journal"
)

// logFlags say who reads what a run does.
type logFlags struct {
	file    string
	verbose bool
}

func (o *logFlags) Title() string { return "What stays of the run" }

func (o *logFlags) Register(f *pflag.FlagSet) {
	f.StringVar(&o.file, "log", "", "add what the run does to this file, outside the project: one line of JSON a step")
	f.BoolVar(&o.verbose, "verbose", false, "show all steps of the run, and all that a build or download of the image says")
}

func (o *logFlags) check(*pflag.FlagSet) error { return nil }

func (o *logFlags) plan(*runplan.Options) {}

// openJournal opens the run's journal. On a terminal its records are never shown: Claude
// Code's interface is there.
func openJournal(a *cli.App, o *Options, plan *runplan.Plan) (*journal.Journal, error) {
	options := journal.Options{Run: plan.ID, File: o.log.file, Project: plan.Folder(), Secrets: redact.SecretsOf(os.Environ()),
		Warn: func(line string) { a.SayLine("%s", line) }}
	for _, m := range plan.Agent.Mounts {
		if m.Source != "" && !m.ReadOnly {
			options.Mounts = append(options.Mounts, m.Source)
		}
	}
	if o.log.verbose && !o.terminal.on {
		options.Show = options.Warn
	}
	j, err := journal.Open(options)
	switch {
	case errors.Is(err, journal.ErrRefused):
		return nil, exitcode.With(exitcode.Refused, fmt.Errorf("--log: %w", err))
	case err != nil:
		return nil, exitcode.With(exitcode.CantWrite, fmt.Errorf("--log: %w", err))
	}
	return j, nil
}

// recordHost gives a run's journal what the run says, and takes the run's secrets out of it.
func recordHost(j *journal.Journal, plan *runplan.Plan, host *sandbox.Host) {
	j.Hide(plan.Redactor(host.Secrets.Values), host.Credential.Redactor())
	host.Say, host.Log = j.Say(host.Say), j.Logger()
}

// recordFailure records the error that a run ends with, unless it has been told already.
func recordFailure(j *journal.Journal, err error) {
	if _, show := exitcode.Of(err, exitcode.Internal); show != nil {
		j.Fail(show)
	}
}
