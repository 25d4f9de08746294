package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/report"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/shellword"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session"
)

// Bounds of the end's lists, in lines: they must not push the agent's own words off the
// screen.
const (
	maxEndRows    = 10
	maxEndChanges = 15
)

// Report tells people how a run ended, on a short screen: what was refused, what changed, the
// dangerous first, and the one command that comes next. The rest is in report, logs and diff.
func Report(a *cli.App, r *sandbox.Result, mode firewall.Mode) {
	reportNetwork(a, r, mode)
	reportChanges(a, r)
	if t := r.Timings; t.Startup > 0 {
		line := fmt.Sprintf("started in %s, ran %s", t.Startup.Round(time.Millisecond), t.Agent.Round(time.Millisecond))
		if r.Use != nil {
			line += ", used " + r.Use.String()
		}
		if r.Files.Summary == "" {
			line += "; nothing was kept"
		} else {
			line += "; details: sbx-devc report " + r.ID
		}
		a.SayLine("%s", line)
	}
	if r.Outcome.Conclusion == agent.Attended && r.Conversation != "" {
		a.SayLine("go on with this conversation in a sandbox: sbx-devc run --continue")
		if n := len(r.EarlierConversations); n > 0 {
			a.SayLine("with one that you left before it, of %d: sbx-devc run --resume %s", n, strings.Join(r.EarlierConversations, " or "))
		}
	}
	if r.Files.Summary == "" {
		return
	}
	if next := nextCommand(r); next != "" {
		a.SayLine("next: sbx-devc %s %s", next, r.ID)
	}
}

// nextCommand is what a person does with the work of a run; "" where there is none.
func nextCommand(r *sandbox.Result) string {
	switch {
	case len(r.Commits) > 0: // it shows what is dangerous first
		return "apply"
	case r.Changes.Empty(), r.Files.Changes == "":
		return ""
	case r.WorkTree != "" || len(r.Changes.Dangerous()) > 0:
		return "review"
	}
	return "diff"
}

// reportNetwork lists what the allowlist lacks.
func reportNetwork(a *cli.App, r *sandbox.Result, mode firewall.Mode) {
	switch {
	case r.Egress == nil:
		return
	case len(r.Egress.Rows) == 0 && mode == firewall.ModeNone: // attempts leave no record there
		fmt.Fprint(a.Stderr, "\nwithout a network only the model was in reach, and no attempt was recorded\n")
		return
	case len(r.Egress.Rows) == 0 && mode == firewall.ModeHost:
		fmt.Fprint(a.Stderr, "\nwithout a firewall nothing was recorded\n")
		return
	}
	isUnlisted := func(row report.Row) bool { return row.Rule == firewall.RuleUnlisted }
	lacking := *r.Egress
	lacking.Rows = slices.DeleteFunc(slices.Clone(r.Egress.Rows), func(row report.Row) bool {
		return row.Verdict == firewall.Allow && !isUnlisted(row)
	})
	fmt.Fprintln(a.Stderr)
	if len(r.Egress.Rows) > 0 && len(lacking.Rows) == 0 {
		var absent []string
		for _, row := range r.Egress.Rows {
			if row.IsAbsent() {
				absent = append(absent, visible.Line(row.Host))
			}
		}
		line := fmt.Sprintf("the agent reached %s, and nothing was refused", visible.Count(len(r.Egress.Rows)-len(absent), "allowed host"))
		if len(absent) > 0 {
			line += "; no such name: " + strings.Join(absent[:min(len(absent), maxEndRows)], ", ")
		}
		fmt.Fprintln(a.Stderr, line)
		return
	}
	_ = lacking.First(maxEndRows).WriteRunText(a.Stderr, projects.Flag(r.SettingsFolder))
	if slices.ContainsFunc(lacking.Rows, isUnlisted) {
		fmt.Fprintf(a.Stderr, "sbx-devc: entries that the allowlist lacks: sbx-devc policy learn %s%s\n", learnFlags(r.SettingsFolder), r.ID)
	}
}

// reportChanges says what changed in the project, the dangerous first.
func reportChanges(a *cli.App, r *sandbox.Result) {
	set := r.Changes
	switch {
	case set == nil:
		return
	case set.Empty():
		fmt.Fprint(a.Stderr, "\nno file of the project changed\n")
		_ = set.WriteList(a.Stderr, maxEndChanges) // what was not looked at
		return
	}
	fmt.Fprintf(a.Stderr, "\n%s\n", set.Headline())
	_ = set.WriteList(a.Stderr, maxEndChanges)
	if len(set.Dangerous()) > 0 {
		fmt.Fprint(a.Stderr, "! programs outside of the sandbox obey it: look at it before you build, commit, push, or open the folder\n")
	}
}

// learnFlags are the flags with which policy learn works on a run in folder:
// it compares with the current folder's settings unless told otherwise.
func learnFlags(folder string) string {
	file := filepath.Join(folder, projects.DefaultSettings)
	if _, err := os.Stat(file); err != nil {
		return "--format flags "
	}
	if here, err := os.Getwd(); err == nil && projects.Real(here) == folder {
		return ""
	}
	return "--file " + shellword.Quote(file) + " "
}

// WithCode gives the failure of a run its exit code.
func WithCode(err error) error {
	if exit := (*exitcode.Error)(nil); errors.As(err, &exit) {
		return err // it has one
	}
	return exitcode.With(sandbox.ExitCode(err), err)
}

// PlanError is runError for a run that is not planned. Everything that is wrong in
// the project's settings is said.
func PlanError(a *cli.App, err error) error {
	if wrong := (*session.SettingsError)(nil); errors.As(err, &wrong) {
		_ = diag.WriteText(a.Stderr, wrong.Findings)
	}
	return WithCode(err)
}
