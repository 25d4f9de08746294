package action

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/learn"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/progress"
	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/images"
	"github.com/org/claude-sandbox/session/instructions"
	"github.com/org/claude-sandbox/session/runs"
	"github.com/org/claude-sandbox/settings"
)

// Sandboxed runs jobs the way 'sbx-devc run' does. Messages for people go through
// the job: in a workflow's log a line of the project's own text could be a command
// to the runner.
type Sandboxed struct {
	Getenv func(string) string // the step's environment
}

// Run implements Runner.
func (s Sandboxed) Run(ctx context.Context, job Job) (Report, error) {
	home := runs.HomeOf(s.Getenv, func(line string) { fmt.Fprintf(job.Progress, "sbx-devc: %s\n", line) })
	home.Reap(ctx, "")
	if !job.Untrusted { // the texts of the checked-out commit, as its CLAUDE.md
		texts, err := instructions.Project(job.Inputs.WorkingDirectory)
		if err != nil {
			return setupFailed(err)
		}
		job.Texts = texts
	}
	project, plan, err := planJob(job)
	if err != nil {
		return Report{Outcome: agent.Outcome{Conclusion: ConfigError, Message: err.Error()}}, err
	}
	host, err := s.host(job, home, plan)
	if err == nil {
		err = plan.Closed()
	}
	if err != nil {
		return Report{Outcome: agent.Outcome{Conclusion: ConfigError, Message: err.Error()}}, err
	}
	if err := host.Credential.Renew(ctx); err != nil { // before anything starts
		return notExchanged(err)
	}
	e, err := session.FittingEngine(ctx, plan, session.SilentEngine, host.Say)
	if errors.Is(err, runplan.ErrConfig) {
		return Report{Outcome: agent.Outcome{Conclusion: ConfigError, Message: err.Error()}}, err
	}
	if err != nil {
		return setupFailed(s.hinted(err, host, job.Inputs))
	}
	defer e.Close()
	cache, err := images.CacheDir()
	if err != nil {
		return setupFailed(err)
	}
	bring := images.Images{
		Engine: e, Getenv: s.Getenv, Progress: &progress.Reporter{Out: job.Progress}, Option: "the input image", Cache: cache,
		Choice: project.Choice, Published: release.FirewallImage(),
	}
	tellCache(job.Progress, cache)
	brought := bring.Progress.Await(session.WaitingForImages, session.SilentEngine)
	err = bring.Bring(ctx, plan)
	brought()
	if err != nil {
		return setupFailed(err)
	}
	stop := make(chan struct{})
	defer close(stop)
	host.Signals = hurry(ctx, stop)
	result, err := sandbox.Run(ctx, e, plan, *host)
	if t := result.Timings; t.Startup > 0 {
		fmt.Fprintf(job.Progress, "started in %s (firewall %s), ran %s", t.Startup.Round(time.Millisecond), t.Firewall.Round(time.Millisecond),
			t.Agent.Round(time.Millisecond))
	}
	report := reportOf(result, err)
	report.Learned = learned(plan, result.Files.Audit)
	if job.Untrusted && job.Texts != nil {
		report.Notes = append(report.Notes, textsNote(job.Texts))
	}
	report.Facts = facts(ctx, e, plan) // none when somebody waits for the end
	return report, s.hinted(err, host, job.Inputs)
}

// learned is what an allowlist lacks for a run that was open, by the firewall's records.
func learned(plan *runplan.Plan, records string) *learn.Lesson {
	if plan.Policy.Mode() != firewall.ModeAudit {
		return nil
	}
	f, err := os.Open(records)
	if err != nil {
		return nil // which the run has told
	}
	defer f.Close()
	all, _ := audit.Read(f) // what there is
	return learn.New(all, plan.Policy, learn.Options{})
}

// tellCache says on a fresh runner how a workflow keeps Claude Code's package between jobs.
func tellCache(to io.Writer, cache string) {
	folder, key, err := images.PackageFolder(cache, runtime.GOARCH)
	if err != nil {
		return // which Bring tells
	}
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(to, "a step actions/cache before this one keeps Claude Code between jobs: path %s, key %s\n", folder, key)
	}
}

// facts are those by which somebody could make the sandbox again.
func facts(ctx context.Context, e *engine.Engine, plan *runplan.Plan) (lines []string) {
	ctx, cancel := context.WithTimeout(ctx, factsTime)
	defer cancel()
	lines = append(lines, "sbx-devc "+release.Version)
	if info, err := e.Info(ctx); err == nil {
		lines = append(lines, fmt.Sprintf("container engine %s, %s", info.Server, info.Arch))
	}
	for _, image := range []struct{ of, name string }{{"agent", plan.Agent.Image}, {"firewall", plan.Sidecar.Image}} {
		line := fmt.Sprintf("image of the %s: %s", image.of, image.name)
		if found, err := e.ImageInspect(ctx, image.name); err == nil {
			for _, more := range append([]string{found.ID}, found.Digests...) {
				if more != image.name {
					line += ", " + more
				}
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// factsTime bounds asking the engine for them.
const factsTime = 3 * time.Second

func setupFailed(err error) (Report, error) {
	return Report{Outcome: agent.Outcome{Conclusion: SetupError, Message: err.Error()}}, err
}

// planJob decides everything about the run that needs no engine.
func planJob(job Job) (project *session.Project, plan *runplan.Plan, err error) {
	in := job.Inputs
	options := runplan.Options{
		ID:     job.ID,
		Layers: runplan.Layers{User: in.Settings(), InputsNotFlags: true},
		ModelUse: runplan.ModelUse{
			AllowHostedWeb: in.AllowHostedWeb, MaxRepeats: runplan.DefaultRepeats, Patience: in.patience(),
		},
		Claude: runplan.Claude{
			Instructions: job.instructions(), Schema: in.Schema,
			Headless: agent.Headless{
				Model: in.Model, MaxTurns: in.MaxTurns, MaxBudgetUSD: in.MaxBudgetUSD,
				FallbackModels: in.FallbackModels, AllowedTools: in.AllowedTools, Resume: in.Resume.ID,
				AppendSystemPrompt: strings.TrimSpace(agent.NetworkNotice + "\n" + in.AppendSystemPrompt),
			},
		},
		Environment: runplan.Environment{Variables: slices.Concat(job.Context, in.Env)},
		Folders:     runplan.Folders{Binaries: true, Tree: filepath.Join(job.Dir, sandbox.TreeFolder)},
		Containers:  runplan.Containers{Canaries: true, EngineNetwork: in.EngineNetwork},
	}
	var effective settings.Accepted
	project, err = session.ReadProject(in.WorkingDirectory)
	if err == nil && in.Repository != "" {
		project.Shown, options.Folder = in.Repository, in.folderInRepository()
	}
	if err == nil && in.Image == projectsImage {
		err = project.AcceptImage()
	}
	if err == nil {
		effective, err = project.Effective(options)
	}
	if err == nil {
		plan, err = project.Plan(options, effective)
	}
	if err == nil {
		err = unusedKey(in, plan)
	}
	if left, unread := os.ReadDir(in.WorkingDirectory); err == nil && unread == nil && len(left) == 0 {
		plan.Warnings = append(plan.Warnings, "the workspace is empty: a step actions/checkout before this one fills it")
	}
	i := slices.IndexFunc(in.AllowedDomains, oneLabel.MatchString)
	if err == nil && i >= 0 && in.EngineNetwork == "" && in.PrivateDomains == nil {
		plan.Warnings = append(plan.Warnings, in.AllowedDomains[i]+" in allowed_domains is a name without a domain: "+
			"for a service of the job give services_network: ${{ job.services.NAME.network }}")
	}
	return project, plan, err
}

// oneLabel are entries of hosts without a domain, such as db:5432.
var oneLabel = regexp.MustCompile(`^(?:https://|git:)?[\w-]+(?::[0-9]+(?:/\w+)?)?(?:[/ ].*)?$`)

// instructions are what Claude reads of the checked-out commit, and what is left out.
func (j Job) instructions() runplan.Instructions {
	i := runplan.Instructions{Memory: !j.Untrusted, Texts: !j.Untrusted}
	if j.Texts != nil {
		i.LeftOut = j.Texts.LeftOut
	}
	return i
}

// home is what Claude's own folder begins with.
func (j Job) home(plan *runplan.Plan) []sandbox.HomeFile {
	files := j.Inputs.Resume.Files(plan.Agent.WorkingDir)
	if j.Texts != nil {
		files = append(files, j.Texts.Files...)
	}
	return files
}

// host is this side of a run.
func (s Sandboxed) host(job Job, home runs.Home, plan *runplan.Plan) (*sandbox.Host, error) {
	upstream, credential, err := s.modelAPI(job)
	if err != nil {
		return nil, err
	}
	return &sandbox.Host{
		Prompt: strings.NewReader(job.Inputs.Prompt), Stdout: io.Discard, Stderr: job.Progress,
		Say:      func(line string) { fmt.Fprintln(job.Progress, line) },
		Upstream: upstream, Credential: credential, UpstreamProxy: http.ProxyFromEnvironment,
		Secrets:  sandbox.Secrets{Values: job.Keys},
		Home:     job.home(plan),
		StateDir: job.Dir, LiveDir: home.Live(), Callbacks: sandbox.Callbacks{OnEvent: job.Events},
		Ledger: home.Ledger(job.ID, job.Inputs.WorkingDirectory),
	}, nil
}

// modelAPI is where the model is asked, and with what.
func (s Sandboxed) modelAPI(job Job) (upstream *url.URL, credential credproxy.Credential, err error) {
	in := job.Inputs
	getenv := func(name string) string {
		switch name {
		case "ANTHROPIC_API_KEY":
			return in.APIKey
		case "CLAUDE_CODE_OAUTH_TOKEN":
			return in.OAuthToken
		case session.GatewayURL:
			return in.GatewayURL
		case session.GatewayToken:
			return in.GatewayToken
		}
		return s.Getenv(name)
	}
	if in.Rule == "" {
		upstream, credential, err = session.ModelAPI(getenv)
	} else if upstream, err = session.Upstream(getenv); err == nil {
		credential = s.federated(job, upstream)
	}
	if err == nil {
		credential, err = credential.WithHeaders(in.GatewayHeaders)
	}
	return upstream, credential, err
}

// modelInput replaces what Claude Code says of a model that the API does not have.
var modelInput = strings.NewReplacer(
	"Run --model to pick a different model.", "The input model names a different one.",
	"Try --model to switch to ", "Try the input model with ",
)

// reportOf is what a run came to, as the step reports it.
func reportOf(result *sandbox.Result, err error) Report {
	u := result.Usage
	report := Report{
		Outcome: result.Outcome, Result: result.Agent, Egress: result.Egress, Changes: result.Changes, Warnings: result.Warnings,
		Canaries: result.Canaries, Structured: result.Structured(), Models: result.Models, Notes: result.Notes,
		Transcript: result.Files.Transcript, MeteredUSD: result.MeteredUSD, TokensIn: u.Input + u.CacheRead + u.CacheWrite, TokensOut: u.Output,
	}
	report.Outcome.Message = modelInput.Replace(report.Outcome.Message)
	if report.Result != nil {
		copied := *report.Result
		copied.Text = modelInput.Replace(copied.Text)
		report.Result = &copied
	}
	if errors.Is(err, sandbox.ErrNoStart) || errors.Is(err, sandbox.ErrFirewall) {
		report.Outcome = agent.Outcome{Conclusion: SetupError, Message: err.Error()}
	}
	if result.Changes != nil && len(result.Changes.Changes) > 0 {
		report.Patch = result.Files.Changes
	}
	for _, c := range result.Commits {
		if c.Repository == "" { // the checkout's own, and not that of a submodule
			report.Bundle = filepath.Join(filepath.Dir(result.Files.Summary), c.Bundle)
		}
	}
	return report
}

// hinted gives a failure the hint that fits a workflow: those of a run name
// variables and flags.
func (s Sandboxed) hinted(err error, host *sandbox.Host, in Inputs) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sandbox.ErrKey):
		return diag.WithHint(err, "check the secret behind anthropic_api_key or claude_code_oauth_token, and that it belongs to %s",
			host.Upstream)
	case errors.Is(err, sandbox.ErrUpstream):
		return diag.WithHint(err, "check this runner's network and proxy settings, and anthropic_base_url if it is set")
	case errors.Is(err, sandbox.ErrEngine):
		return diag.WithHint(err, "if the container engine was stopped or restarted, run the job again")
	case errors.Is(err, sandbox.ErrTimeout):
		return diag.WithHint(err, "timeout_minutes sets it; the agent's work until then is in the workspace and in the transcript")
	}
	if way := wayOut(err, s.lookAround(in)); way != "" {
		return diag.WithHint(err, "%s", way)
	}
	return err
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
