package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/org/claude-sandbox/action"
	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox"
)

// actionRunner runs a job of the Action the way the command run does.
type actionRunner struct{ *app }

// Run implements action.Runner.
func (a actionRunner) Run(ctx context.Context, job action.Job) (action.Report, error) {
	// What people are told goes through the job: in a workflow's log a line of
	// the project's own text could be a command to the runner.
	quiet := &app{stdin: a.stdin, stdout: io.Discard, stderr: job.Progress, getenv: a.getenv}
	quiet.reap(ctx)
	plan, host, err := quiet.planJob(job)
	if err != nil {
		return action.Report{Outcome: agent.Outcome{Conclusion: action.ConfigError, Message: err.Error()}}, err
	}
	e, err := engine.Connect(ctx)
	if err != nil {
		return setupFailed(err)
	}
	defer e.Close()
	bring := func() error { return quiet.defaultImage(ctx, e, plan, "the input image") }
	if job.Inputs.Image != "" {
		bring = func() error { return quiet.ensureImages(ctx, e, plan, "the input image") }
	}
	if err := bring(); err != nil {
		return setupFailed(err)
	}
	stop := make(chan struct{})
	defer close(stop)
	host.Signals = hurry(ctx, stop)
	result, err := sandbox.Run(ctx, e, plan, *host)
	report := action.Report{Outcome: result.Outcome, Result: result.Agent, Egress: result.Egress, Changes: result.Changes, Warnings: result.Warnings, Transcript: result.Files.Transcript}
	u := result.Usage
	report.MeteredUSD = result.MeteredUSD
	report.TokensIn, report.TokensOut = u.Input+u.CacheRead+u.CacheWrite, u.Output
	if errors.Is(err, sandbox.ErrNoStart) || errors.Is(err, sandbox.ErrFirewall) {
		report.Outcome = agent.Outcome{Conclusion: action.SetupError, Message: err.Error()}
	}
	switch { // the hints of a run name variables and flags
	case errors.Is(err, sandbox.ErrKey):
		err = diag.WithHint(err, "check the secret behind anthropic_api_key or claude_code_oauth_token, and that it belongs to %s", host.Upstream)
	case errors.Is(err, sandbox.ErrTimeout):
		err = diag.WithHint(err, "timeout_minutes sets it; what the agent had done until then is in the workspace and in the transcript")
	}
	if t := result.Timings; t.Startup > 0 {
		fmt.Fprintf(job.Progress, "started in %s (firewall %s), ran %s", t.Startup.Round(time.Millisecond), t.Firewall.Round(time.Millisecond), t.Agent.Round(time.Millisecond))
	}
	return report, err
}

func setupFailed(err error) (action.Report, error) {
	return action.Report{Outcome: agent.Outcome{Conclusion: action.SetupError, Message: err.Error()}}, err
}

// planJob decides everything about the run that needs no engine.
func (a *app) planJob(job action.Job) (*sandbox.Plan, *sandbox.Host, error) {
	in := job.Inputs
	if err := unknownVariables(os.Environ(), nil); err != nil {
		return nil, nil, diag.WithHint(err, "the Action takes inputs, and of these variables SBX_DEVC_UPSTREAM alone: unset it in the step's env")
	}
	plan, err := a.planRun(in.WorkingDirectory, sandbox.Options{
		ID: job.ID, User: in.Settings(),
		InputsNotFlags: true,
		AllowHostedWeb: in.AllowHostedWeb,
		Headless: agent.Headless{
			Model: in.Model, MaxTurns: in.MaxTurns, MaxBudgetUSD: in.MaxBudgetUSD,
			AppendSystemPrompt: strings.TrimSpace(agent.NetworkNotice + "\n" + in.AppendSystemPrompt),
		},
	})
	if err != nil {
		return nil, nil, err
	}
	upstream, credential, err := modelAPI(func(name string) string {
		switch name {
		case "ANTHROPIC_API_KEY":
			return in.APIKey
		case "CLAUDE_CODE_OAUTH_TOKEN":
			return in.OAuthToken
		}
		return a.getenv(name)
	})
	if err != nil {
		return nil, nil, err
	}
	return plan, &sandbox.Host{
		Prompt: strings.NewReader(in.Prompt), Stdout: io.Discard, Stderr: a.stderr,
		Say:      func(line string) { fmt.Fprintln(a.stderr, line) },
		Upstream: upstream, Credential: credential, UpstreamProxy: http.ProxyFromEnvironment,
		StateDir: job.Dir, LiveDir: a.liveHome(), OnEvent: job.Events,
	}, nil
}

// hurryAfter is how long a cancelled agent may take to end by itself. An
// interrupted Claude writes its result within 1.5 seconds, and GitHub's runner
// terminates the step after 7.5.
const hurryAfter = 3 * time.Second

// hurry returns a channel of signals for a run: when ctx is cancelled, which
// interrupts the agent, and time is up, two signals kill it. It ends with stop.
func hurry(ctx context.Context, stop <-chan struct{}) <-chan os.Signal {
	signals := make(chan os.Signal, 2)
	go func() {
		select {
		case <-stop:
			return
		case <-ctx.Done():
		}
		select {
		case <-stop:
		case <-time.After(hurryAfter):
			signals <- syscall.SIGTERM
			signals <- syscall.SIGTERM
		}
	}()
	return signals
}
