package action

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/sethvargo/go-githubactions"

	"github.com/org/claude-sandbox/agent"
)

// CleanupOptions is the world that Cleanup works in.
type CleanupOptions struct {
	Getenv func(string) string
	Stdout io.Writer
	Remove func(ctx context.Context, id string) error // removes every container of a run; none is no error
}

// Cleanup is the step that always runs last. It removes what a killed run left
// on the engine, and writes the summary that such a run could not. What it
// cannot do is a warning in the log and no failure: the conclusion of the run
// is not its business.
func Cleanup(ctx context.Context, o CleanupOptions) {
	s := &step{
		Options: Options{Getenv: o.Getenv, Stdout: o.Stdout},
		github:  githubactions.New(githubactions.WithWriter(o.Stdout), githubactions.WithGetenv(o.Getenv)),
	}
	id, err := runID(o.Getenv)
	if err == nil {
		err = o.Remove(ctx, id)
	}
	if err != nil {
		s.annotate("warning", "claude-sandbox clean-up", err)
	}
	dir := folderOf(o.Getenv, id)
	if _, err := os.Stat(dir); id == "" || err != nil {
		return // the run never began
	}
	if _, err := os.Stat(filepath.Join(dir, reportedName)); !errors.Is(err, os.ErrNotExist) {
		return // it reported itself
	}
	killed := reported{Report: Report{Outcome: agent.Outcome{Conclusion: agent.Cancelled, Message: "the run was killed before it could report"}}, events: newEvents(io.Discard)}
	if err := appendTo(o.Getenv("GITHUB_STEP_SUMMARY"), killed.writeSummary); err != nil {
		s.annotate("warning", "claude-sandbox clean-up", err)
	}
}
