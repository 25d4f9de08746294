package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/action"
	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/cmd/sbx-devc/run"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/sandbox"
)

func actionCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "action",
		Short: "Steps of the GitHub Action; called by action.yml",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use:     "run",
			Short:   "Run the agent from the step's INPUT_* variables and write outputs and summary",
			Example: "  sbx-devc action run    # in a step of action.yml",
			Long: `Run the agent as the workflow's step asks, from the INPUT_* variables of
docs/action.md, and write $GITHUB_OUTPUT and $GITHUB_STEP_SUMMARY in every case.

Exit code 0: the agent did its work, or the event is not meant for it; 130 or 143: cancelled by a
signal; 1: everything else, and the output "conclusion" names it.`,
			Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return actionRun(cmd.Context(), a) },
		},
		&cobra.Command{
			Use:     "apply",
			Short:   "Judge an agent's patch and open a pull request with it, in a job without an agent",
			Example: "  sbx-devc action apply    # in a step of apply/action.yml",
			Long: `Judge the patch of a job with an agent, from the INPUT_* variables of
apply/action.yml, commit it to a new branch of the checkout's repository on
GitHub, and open a pull request. See docs/action.md.

Exit code 0: a pull request or a draft is open, or the patch changes nothing;
1: nothing was applied, and the output "conclusion" says why.`,
			Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return actionApply(cmd.Context(), a) },
		},
		&cobra.Command{
			Use:     "comment",
			Short:   "Write an agent's review to a pull request, in a job without an agent",
			Example: "  sbx-devc action comment    # in a step of comment/action.yml",
			Long: `Write the structured answer of a job with an agent to a pull request, from the
INPUT_* variables of comment/action.yml: comments on lines that the changes
show, and one comment with the rest, which later runs change. See docs/action.md.

Exit code 0: the comments are there; 1: they are not, and the output
"conclusion" says why.`,
			Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return actionComment(cmd.Context(), a) },
		},
		&cobra.Command{
			Use:     "cleanup",
			Short:   "Remove what a killed run left behind",
			Example: "  sbx-devc action cleanup    # in a step of action.yml",
			Args:    cobra.NoArgs,
			RunE:    func(cmd *cobra.Command, _ []string) error { return actionCleanup(cmd.Context(), a) },
		},
	)
	return cmd
}

func actionRun(ctx context.Context, a *cli.App) error {
	// In addition to the context, which only says that some signal came.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	runner := actionRunner{action.Sandboxed{Getenv: a.Getenv}}
	options := action.Options{Getenv: a.Getenv, Stdout: a.Unwatched(), Runner: runner, Now: time.Now} // files say the same
	conclusion := action.Run(ctx, options)
	if conclusion == agent.Success || conclusion == action.Skipped {
		return nil
	}
	if conclusion == agent.Cancelled {
		select {
		case s := <-signals:
			if n, ok := s.(syscall.Signal); ok {
				return exitcode.With(exitcode.Signal+int(n), nil)
			}
		default:
		}
	}
	return exitcode.With(exitcode.Failed, nil) // the log says why
}

func actionApply(ctx context.Context, a *cli.App) error {
	switch action.Apply(ctx, action.ApplyOptions{Getenv: a.Getenv, Stdout: a.Unwatched()}) {
	case action.Proposed, action.Drafted, action.Unchanged:
		return nil
	}
	return exitcode.With(exitcode.Failed, nil) // the log says why
}

func actionComment(ctx context.Context, a *cli.App) error {
	if action.Comment(ctx, action.ApplyOptions{Getenv: a.Getenv, Stdout: a.Unwatched()}) == action.Commented {
		return nil
	}
	return exitcode.With(exitcode.Failed, nil) // the log says why
}

// cleanupBudget bounds the clean-up: a workflow that was cancelled waits for it.
const cleanupBudget = time.Minute

func actionCleanup(ctx context.Context, a *cli.App) error {
	ctx, cancel := context.WithTimeout(ctx, cleanupBudget)
	defer cancel()
	projects.Runs(a).Reap(ctx, "")
	action.Cleanup(ctx, action.CleanupOptions{
		Getenv: a.Getenv, Stdout: a.Stdout,
		Remove: func(ctx context.Context, id string) error {
			e, err := engine.Connect(ctx)
			if errors.Is(err, engine.ErrUnavailable) {
				return nil // no engine, no containers; the run has said so
			}
			if err != nil {
				return err
			}
			defer e.Close()
			return sandbox.Remove(ctx, e, id)
		},
	})
	return nil
}

// actionRunner refuses variables that stand for flags before a job begins.
type actionRunner struct{ action.Runner }

func (r actionRunner) Run(ctx context.Context, job action.Job) (action.Report, error) {
	if err := run.UnknownVariables(os.Environ(), nil); err != nil {
		err = diag.WithHint(err, "the Action takes inputs, and of these variables SBX_DEVC_UPSTREAM alone: unset it in the step's env")
		return action.Report{Outcome: agent.Outcome{Conclusion: action.ConfigError, Message: err.Error()}}, err
	}
	return r.Runner.Run(ctx, job)
}
