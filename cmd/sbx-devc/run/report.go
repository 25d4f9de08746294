package run

import (
	"cmp"
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
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session"
)

// maxEndRows bounds the egress table at a run's end, which must not push the
// agent's own words off the screen.
const maxEndRows = 40

// Report tells people what happened.
func Report(a *cli.App, r *sandbox.Result, mode firewall.Mode) {
	switch {
	case r.Egress == nil:
	case len(r.Egress.Rows) == 0 && mode == firewall.ModeNone: // attempts leave no record there
		fmt.Fprint(a.Stderr, "\nwithout a network only the model was in reach, and no attempt was recorded\n")
	case len(r.Egress.Rows) == 0 && mode == firewall.ModeHost:
		fmt.Fprint(a.Stderr, "\nwithout a firewall nothing was recorded\n")
	default:
		fmt.Fprintln(a.Stderr)
		_ = r.Egress.First(maxEndRows).WriteRunText(a.Stderr, projects.Flag(r.SettingsFolder))
		if len(r.Egress.Rows) > maxEndRows {
			fmt.Fprintf(a.Stderr, "sbx-devc: all of it: sbx-devc report %s\n", r.ID)
		}
		if slices.ContainsFunc(r.Egress.Rows, func(row report.Row) bool { return row.Rule == firewall.RuleUnlisted }) {
			fmt.Fprintf(a.Stderr, "sbx-devc: what the allowlist lacks for this: sbx-devc policy learn %s%s\n", learnFlags(r.SettingsFolder), r.ID)
		}
	}
	reportChanges(a, r)
	if r.Outcome.Conclusion == agent.Attended && r.Conversation != "" {
		fmt.Fprintln(a.Stderr, "sbx-devc: go on with this conversation in a sandbox: sbx-devc run --continue")
		if n := len(r.EarlierConversations); n > 0 {
			a.SayLine("with one that you left before it, of %d: sbx-devc run --resume %s", n, strings.Join(r.EarlierConversations, " or "))
		}
	}
	t := r.Timings
	if t.Startup > 0 {
		fmt.Fprintf(a.Stderr, "sbx-devc: started in %s (firewall %s), ran %s; %s\n",
			t.Startup.Round(time.Millisecond), t.Firewall.Round(time.Millisecond), t.Agent.Round(time.Millisecond),
			cmp.Or(filepath.Dir(r.Files.Summary), "nothing was kept"))
	}
	if r.Use != nil {
		fmt.Fprintf(a.Stderr, "sbx-devc: the agent used %s\n", r.Use)
	}
}

// maxEndChanges bounds the list of changes at a run's end, in lines.
const maxEndChanges = 15

// reportChanges says what changed in the project, the dangerous first.
func reportChanges(a *cli.App, r *sandbox.Result) {
	set := r.Changes
	switch {
	case set == nil:
		return
	case set.Empty():
		fmt.Fprint(a.Stderr, "\nno file of the project changed\n")
		return
	}
	fmt.Fprintf(a.Stderr, "\n%s\n", set.Headline())
	_ = set.WriteList(a.Stderr, maxEndChanges)
	if len(set.Dangerous()) > 0 {
		fmt.Fprintf(a.Stderr, "! is obeyed outside of the sandbox: look at it before you build, commit, push, or open the folder: "+
			"sbx-devc review %s\n", r.ID)
	}
	fmt.Fprintf(a.Stderr, "sbx-devc: all of it: sbx-devc diff %s\n", r.ID)
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
