package action

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/sethvargo/go-githubactions"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/redact"
)

// CleanupOptions is the world that Cleanup works in.
type CleanupOptions struct {
	Getenv func(string) string
	Stdout io.Writer
	Remove func(ctx context.Context, id string) error // removes every container of a run; none is no error
}

// Cleanup is the step that always runs last. It removes what a killed run left
// on the engine, and writes the outputs and the summary that such a run could not,
// and one that could not even be started. A step that fails is a warning in the log
// and no failure.
func Cleanup(ctx context.Context, o CleanupOptions) {
	s := &step{
		Options: Options{Getenv: o.Getenv, Stdout: o.Stdout},
		github:  githubactions.New(githubactions.WithWriter(o.Stdout), githubactions.WithGetenv(o.Getenv)),
	}
	warn := func(err error) {
		if err != nil {
			s.annotate("warning", "claude-sandbox clean-up", err)
		}
	}
	id, err := runID(o.Getenv)
	if err == nil {
		err = o.Remove(ctx, id)
	}
	warn(err)
	dir := folderOf(o.Getenv, id)
	if id == "" || o.Getenv("RUN_CONCLUSION") != "" || exists(filepath.Join(dir, reportedName)) {
		return // it reported itself
	}
	outcome, why := unreported(o.Getenv("RUN_OUTCOME"), exists(dir))
	r := reported{Report: Report{Outcome: outcome}, events: newEvents(io.Discard, redact.New(redact.Options{}))}
	if exists(dir) {
		r.dir = dir
	}
	if transcript := filepath.Join(dir, "transcript.jsonl"); exists(transcript) {
		r.Transcript = transcript
	}
	warn(appendTo(o.Getenv("GITHUB_OUTPUT"), r.outputs().write))
	warn(appendTo(o.Getenv("GITHUB_STEP_SUMMARY"), r.writeSummary))
	if outcome.Conclusion != agent.Cancelled {
		s.annotate("error", "claude-sandbox", why)
	}
}

func exists(name string) bool { _, err := os.Lstat(name); return err == nil }

// unreported says why a run has not reported, by what the runner says of its step
// (success, failure, cancelled, skipped) and by whether it began.
func unreported(stepOutcome string, began bool) (outcome agent.Outcome, why error) {
	conclusion := agent.Failure
	switch {
	case stepOutcome == "cancelled" || stepOutcome == "skipped":
		conclusion, why = agent.Cancelled, errors.New("the workflow was cancelled before the run could report")
	case began:
		why = diag.WithHint(errors.New("the run was killed before it could report, most often because the machine had no memory left"),
			"the work so far is in the workspace; the report folder holds the transcript so far")
	default:
		conclusion = ConfigError
		why = diag.WithHint(errors.New("the step could not be started, most often because an input is longer than 128 KiB, which is all that "+
			"Linux lets a variable hold"),
			"write a long prompt into a file of the workspace and name that with prompt_file")
	}
	message := why.Error()
	if hint := diag.HintOf(why); hint != "" {
		message += ": " + hint
	}
	return agent.Outcome{Conclusion: conclusion, Message: message}, why
}
