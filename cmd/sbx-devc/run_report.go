package main

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

// report tells people what happened.
func (a *app) report(r *sandbox.Result, mode firewall.Mode) {
	switch {
	case r.Egress == nil:
	case len(r.Egress.Rows) == 0 && mode == firewall.ModeNone: // attempts leave no record there
		fmt.Fprint(a.stderr, "\nwithout a network only the model was in reach, and no attempt was recorded\n")
	case len(r.Egress.Rows) == 0 && mode == firewall.ModeHost:
		fmt.Fprint(a.stderr, "\nwithout a firewall nothing was recorded\n")
	default:
		fmt.Fprintln(a.stderr)
		_ = r.Egress.First(maxEndRows).WriteRunText(a.stderr, projectFlag(r.SettingsFolder))
		if len(r.Egress.Rows) > maxEndRows {
			fmt.Fprintf(a.stderr, "sbx-devc: all of it: sbx-devc report %s\n", r.ID)
		}
		if slices.ContainsFunc(r.Egress.Rows, func(row report.Row) bool { return row.Rule == firewall.RuleUnlisted }) {
			fmt.Fprintf(a.stderr, "sbx-devc: what the allowlist lacks for this: sbx-devc policy learn %s%s\n", learnFlags(r.SettingsFolder), r.ID)
		}
	}
	a.reportChanges(r)
	if r.Outcome.Conclusion == agent.Attended && r.Conversation != "" {
		fmt.Fprintln(a.stderr, "sbx-devc: go on with this conversation in a sandbox: sbx-devc run --continue")
		if n := len(r.EarlierConversations); n > 0 {
			a.sayLine("with one that you left before it, of %d: sbx-devc run --resume %s", n, strings.Join(r.EarlierConversations, " or "))
		}
	}
	t := r.Timings
	if t.Startup > 0 {
		fmt.Fprintf(a.stderr, "sbx-devc: started in %s (firewall %s), ran %s; %s\n",
			t.Startup.Round(time.Millisecond), t.Firewall.Round(time.Millisecond), t.Agent.Round(time.Millisecond),
			cmp.Or(filepath.Dir(r.Files.Summary), "nothing was kept"))
	}
	if r.Use != nil {
		fmt.Fprintf(a.stderr, "sbx-devc: the agent used %s\n", r.Use)
	}
}

// maxEndChanges bounds the list of changes at a run's end, in lines.
const maxEndChanges = 15

// reportChanges says what changed in the project, the dangerous first.
func (a *app) reportChanges(r *sandbox.Result) {
	set := r.Changes
	switch {
	case set == nil:
		return
	case set.Empty():
		fmt.Fprint(a.stderr, "\nno file of the project changed\n")
		return
	}
	fmt.Fprintf(a.stderr, "\n%s\n", set.Headline())
	_ = set.WriteList(a.stderr, maxEndChanges)
	if len(set.Dangerous()) > 0 {
		fmt.Fprintf(a.stderr, "! is obeyed outside of the sandbox: look at it before you build, commit, push, or open the folder: "+
			"sbx-devc review %s\n", r.ID)
	}
	fmt.Fprintf(a.stderr, "sbx-devc: all of it: sbx-devc diff %s\n", r.ID)
}

// learnFlags are the flags with which policy learn works on a run in folder:
// it compares with the current folder's settings unless told otherwise.
func learnFlags(folder string) string {
	file := filepath.Join(folder, defaultSettings)
	if _, err := os.Stat(file); err != nil {
		return "--format flags "
	}
	if here, err := os.Getwd(); err == nil && real(here) == folder {
		return ""
	}
	return "--file " + shellWord(file) + " "
}

// shellWord quotes text for a shell where it needs that.
func shellWord(text string) string { return shellword.Quote(text) }

// runError gives the failure of a run its exit code.
func runError(err error) error {
	if exit := (*exitcode.Error)(nil); errors.As(err, &exit) {
		return err // it has one
	}
	return exitWith(sandbox.ExitCode(err), err)
}

// planError is runError for a run that is not planned. Everything that is wrong in
// the project's settings is said.
func (a *app) planError(err error) error {
	if wrong := (*session.SettingsError)(nil); errors.As(err, &wrong) {
		_ = diag.WriteText(a.stderr, wrong.Findings)
	}
	return runError(err)
}
