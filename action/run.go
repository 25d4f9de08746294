package action

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sethvargo/go-githubactions"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/redact"
)

// Options is the world that Run works in.
type Options struct {
	Getenv func(string) string // the step's environment: INPUT_*, GITHUB_*, RUNNER_*
	Stdout io.Writer           // the step's log, in which the runner reads commands
	Runner Runner
	Now    func() time.Time

	// CancelGrace is how long a cancelled run may take to stop before it is
	// reported without waiting for its end; 0 = 6 seconds. GitHub's runner
	// interrupts a step, terminates it after 7.5 seconds and kills it 2.5 later.
	CancelGrace time.Duration
}

// Run does one step of a workflow from inputs to outputs and returns the
// conclusion. Outputs and the step summary are written whatever happens, also
// when ctx is cancelled. Only agent.Success means that the agent did its work.
func Run(ctx context.Context, o Options) agent.Conclusion {
	step := &step{
		Options: o,
		github:  githubactions.New(githubactions.WithWriter(o.Stdout), githubactions.WithGetenv(o.Getenv)),
		began:   o.Now(),
	}
	r := step.run(ctx)
	r.duration = o.Now().Sub(step.began)
	step.report(r)
	_ = step.log.Close() // best effort, as all of the log
	return r.Outcome.Conclusion
}

// step is one execution of the Action.
type step struct {
	Options
	github  *githubactions.Action
	began   time.Time
	summary bool
	clean   *redact.Redactor
	log     *cleanLog // Stdout without secrets

	annotated int // annotations so far
}

// keepSecrets takes the secrets out of everything that is printed from now on.
func (s *step) keepSecrets(secrets []string) {
	s.clean = redact.New(redact.Options{Secrets: secrets, Patterns: true})
	s.log = &cleanLog{to: s.clean.Writer(s.Stdout), runner: s.Stdout}
	s.Stdout = s.log
	s.github = githubactions.New(githubactions.WithWriter(s.Stdout), githubactions.WithGetenv(s.Getenv))
}

// cleanLog is a redacting writer for several goroutines.
type cleanLog struct {
	mu     sync.Mutex
	to     io.WriteCloser
	runner io.Writer // what is behind it
}

// hide tells the runner a secret, which takes it out of all later lines of the job's log.
func (c *cleanLog) hide(secret string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(c.runner, "\n") // the last line may not have ended
	githubactions.New(githubactions.WithWriter(c.runner)).AddMask(secret)
}

func (c *cleanLog) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.to.Write(p)
}

func (c *cleanLog) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.to.Close()
}

// without has write's output written to w without secrets.
func without(secrets *redact.Redactor, write func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		clean := secrets.Writer(w)
		return errors.Join(write(clean), clean.Close())
	}
}

// run comes to a Report; it never fails without one.
func (s *step) run(ctx context.Context) reported {
	in, errs := ParseInputs(s.github.GetInput, s.Getenv)
	s.summary = in.Summary
	keys, missing := in.keyValues(s.Getenv)
	errs = slices.Concat(errs, missing)
	secrets := append(in.Secrets(), cloudSecrets(s.Getenv)...)
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		secrets = append(secrets, keys[name])
	}
	for _, secret := range secrets {
		s.github.AddMask(secret)
	}
	s.keepSecrets(secrets)
	r := reported{events: newEvents(s.Stdout, s.clean)}
	id, err := runID(s.Getenv)
	if errs = append(errs, nonNil(err)...); len(errs) > 0 {
		for _, err := range errs {
			s.annotate("error", "claude-sandbox configuration", err)
		}
		r.said = true
		r.explained = explained(errs...)
		r.Outcome = agent.Outcome{Conclusion: ConfigError, Message: joined(errs)}
		return r
	}
	r.dir, err = s.reportFolder(id)
	if err != nil {
		s.annotate("error", "claude-sandbox set-up", err)
		r.said = true
		r.explained = explained(err)
		r.Outcome = agent.Outcome{Conclusion: SetupError, Message: err.Error()}
		return r
	}
	if r.Outcome, err = s.started(ctx, in, &r); r.Outcome.Conclusion != "" {
		s.summary = s.summary && r.Outcome.Conclusion != Skipped // of every comment that is none of its business
		if r.said = true; err != nil {
			s.annotate("error", "claude-sandbox", err)
			r.explained = explained(err)
		}
		return r
	}
	s.configuration(in)
	r.events.full, r.events.rules = in.ShowOutput, in.AllowedTools
	r.Report, err = s.execute(ctx, Job{
		ID: id, Inputs: in, Keys: keys, Dir: r.dir, Context: runContext(s.Getenv), Untrusted: r.untrusted, Texts: r.texts,
		Events: r.events.hear, Progress: r.events, Hide: s.log.hide,
	}, &r)
	if err != nil && ctx.Err() == nil { // what fails when somebody cancels is no news
		s.annotate("error", "claude-sandbox", err)
		r.said = true
		r.explained = explained(diag.WithHint(errors.New(cmp.Or(r.Outcome.Message, err.Error())), "%s", diag.HintOf(err)))
	}
	return r
}

// execute runs the agent and settles the conclusion.
func (s *step) execute(ctx context.Context, job Job, r *reported) (Report, error) {
	s.github.Group("Agent")
	defer s.github.EndGroup()
	type ended struct {
		report Report
		err    error
	}
	done := make(chan ended, 1)
	go func() {
		report, err := s.Runner.Run(ctx, job)
		done <- ended{report, err}
	}()
	var e ended
	select {
	case e = <-done:
		r.events.flush()
	case <-ctx.Done():
		select {
		case e = <-done:
			r.events.flush()
		case <-time.After(cmp.Or(s.CancelGrace, 6*time.Second)):
			e.err = errors.New("stopping took too long; the clean-up step removes what is left")
			r.events.mute() // the run goes on until this process ends
		}
	}
	e.report.Outcome = settle(ctx, job.Inputs, e.report, e.err)
	s.answer(job.Inputs, &e.report)
	e.report.Warnings = append(e.report.Warnings, r.events.warnings()...)
	return e.report, e.err
}

// contextVariables say which run of which workflow this is. None holds a secret, or text
// that somebody without write access chose.
var contextVariables = []string{"CI", "GITHUB_REPOSITORY", "GITHUB_SHA", "GITHUB_REF", "GITHUB_EVENT_NAME"}

// runContext are those that the step has, NAME=value.
func runContext(getenv func(string) string) (variables []string) {
	for _, name := range contextVariables {
		if value := getenv(name); value != "" {
			variables = append(variables, name+"="+value)
		}
	}
	return variables
}

// answer takes the secrets out of a structured answer, and drops one that is none any more,
// or that no output can hold.
func (s *step) answer(in Inputs, r *Report) {
	if r.Structured == nil || !r.Outcome.OK() {
		r.Structured = nil
		return
	}
	var compact bytes.Buffer
	_ = json.Compact(&compact, r.Structured) // it is JSON: it was checked
	r.Structured = []byte(s.clean.String(compact.String()))
	err := in.Schema.Check(r.Structured)
	if len(r.Structured) > maxOutput {
		err = fmt.Errorf("the answer has %d bytes, and an output holds %d", len(r.Structured), maxOutput)
	}
	if err != nil {
		r.Structured = nil
		r.Outcome = agent.Outcome{Conclusion: agent.SchemaMismatch, Message: err.Error()}
	}
}

// settle is the one place that decides the conclusion: what ended the run from
// outside counts before what the agent said, and a refused host only fails a
// run that would have been a success.
func settle(ctx context.Context, in Inputs, report Report, err error) agent.Outcome {
	out := report.Outcome
	switch {
	case report.Canaries != nil && report.Canaries.Broken != "":
		return agent.Outcome{Conclusion: Unenforced, Message: report.Canaries.Broken}
	case ctx.Err() != nil:
		return agent.Outcome{Conclusion: agent.Cancelled, Message: "the workflow was cancelled"}
	case err != nil && (out.Conclusion == "" || out.OK()):
		return agent.Outcome{Conclusion: SetupError, Message: err.Error()}
	case out.Conclusion == "":
		return agent.Outcome{Conclusion: agent.NoResult, Message: "the agent ended without a result"}
	case out.OK() && in.FailOnDenied && report.Egress != nil && len(report.Egress.DeniedHosts()) > 0:
		hosts := strings.Join(report.Egress.DeniedHosts(), ", ")
		return agent.Outcome{Conclusion: Denied, Message: "hosts were refused, and fail_on_denied is set: " + hosts}
	}
	return out
}

// configuration prints what the run was asked to be, without the prompt's text.
func (s *step) configuration(in Inputs) {
	s.github.Group("Configuration")
	for _, line := range []string{
		fmt.Sprintf("folder: %s, workspace_mode: %s", in.WorkingDirectory, cmp.Or(s.github.GetInput("workspace_mode"), "rw")),
		fmt.Sprintf("prompt: %d bytes", len(in.Prompt)),
		fmt.Sprintf("model: %s, max_turns: %d, max_budget_usd: %g (0 is no limit), timeout: %s", cmp.Or(in.Model, "default"), in.MaxTurns,
			in.MaxBudgetUSD, in.Timeout),
		fmt.Sprintf("image: %s", cmp.Or(in.Image, "default")),
		fmt.Sprintf("egress: %s, presets: %s, allowed_domains: %s, private_domains: %s, denied_domains: %s",
			cmp.Or(s.github.GetInput("egress"), "block"), orNone(strings.Join(in.Presets, " ")), orNone(strings.Join(in.AllowedDomains, " ")),
			orNone(strings.Join(in.PrivateDomains, " ")), orNone(strings.Join(in.DeniedDomains, " "))),
		fmt.Sprintf("keys: %s", orNone(strings.Join(in.Keys, "; "))),
	} {
		_, _ = io.WriteString(s.Stdout, Neutral(line)) // best effort, as all of the log
	}
	s.github.EndGroup()
}

// report writes everything that GitHub reads afterwards. A part that cannot be
// written is named in the log and does not stop the others.
func (s *step) report(r reported) {
	if r.Result != nil {
		copied := *r.Result
		copied.Text = s.clean.String(copied.Text)
		r.Result = &copied
	}
	r.Outcome.Message = s.clean.String(r.Outcome.Message)
	unsaid := diag.WithHint(errors.New(r.Outcome.Message), "%s", advice[r.Outcome.Conclusion])
	if !r.said {
		r.explained = explained(unsaid)
	}
	r.explained = s.clean.String(r.explained)
	r.changed = newChanged(r.Report, s.clean.String)
	try := func(what string, err error) {
		if err != nil {
			s.annotate("warning", "claude-sandbox report", fmt.Errorf("writing %s: %w", what, err))
		}
	}
	try("the outputs", appendTo(s.Getenv("GITHUB_OUTPUT"), without(s.clean, r.outputs().write)))
	if s.summary {
		try("the step summary", appendTo(s.Getenv("GITHUB_STEP_SUMMARY"), without(s.clean, r.writeSummary)))
	}
	if r.dir != "" {
		try("the report's end", os.WriteFile(filepath.Join(r.dir, reportedName), nil, 0o600))
	}
	if hosts := r.denied(); len(hosts) > 0 {
		s.annotate("warning", "claude-sandbox refused hosts", errors.New(NeutralLine(strings.Join(hosts, ", "), 1000)))
	}
	r.changed.annotate(s)
	if c := r.Outcome.Conclusion; !r.said && c != agent.Success && c != agent.Cancelled {
		// Or the page says "exit code 1" and no more.
		s.annotate("error", "claude-sandbox", fmt.Errorf("%s: %w", c, unsaid))
	}
	_, _ = io.WriteString(s.Stdout, Neutral(r.headline()))
}

// advice is what to do about a conclusion; the others need none.
var advice = map[agent.Conclusion]string{
	agent.MaxTurns:       "raise max_turns, or ask for less at once; the work so far is in the workspace",
	agent.APIError:       "the input model names another model; resume goes on with this conversation once the API answers",
	agent.SchemaMismatch: "the transcript has the answer; say in the prompt what the schema means, or ask for less",
	agent.MaxRepeats:     "the transcript shows the calls; say in the prompt what to do when they fail",
	agent.MaxBudget:      "raise max_budget_usd, or ask for less at once; the work so far is in the workspace",
	Unenforced:           "what the agent could read may have left; look for the program on this machine that changes the firewall's rules",
	Denied:               "the step summary lists them, each with the line that allows it",
}

// maxSession is more than the name of a session has, in characters.
const maxSession = 100

func (r reported) outputs() Outputs {
	out := Outputs{
		Conclusion:   r.Outcome.Conclusion,
		Result:       r.text(),
		Structured:   string(r.Structured),
		DurationMS:   r.duration.Milliseconds(),
		DeniedHosts:  r.denied(),
		ChangedFiles: r.changed.paths,
		Protected:    r.changed.protected,
		PatchFile:    r.Patch,
		BundleFile:   r.Bundle,
		ReportDir:    r.dir,
		Canaries:     r.canaries(),
		MeteredUSD:   r.MeteredUSD,

		ExecutionFile: r.Transcript,
	}
	if r.Result != nil {
		out.SessionID, out.CostUSD, out.Turns = NeutralLine(r.Result.SessionID, maxSession), r.Result.CostUSD, r.Result.Turns
	}
	return out
}

// maxAnnotated is how many annotations GitHub shows of each kind per step.
const maxAnnotated = 10

// annotate writes one annotation, or a line of the log where there are enough.
func (s *step) annotate(kind, title string, err error) {
	text := NeutralLine(err.Error(), 2000)
	if hint := diag.HintOf(err); hint != "" {
		text += "\n" + NeutralLine(hint, 1000)
	}
	if s.annotated++; s.annotated > maxAnnotated {
		_, _ = io.WriteString(s.Stdout, Neutral(kind+": "+text)) // best effort, as all of the log
		return
	}
	a := s.github.WithFieldsMap(map[string]string{"title": title})
	if kind == "error" {
		a.Errorf("%s", text)
	} else {
		a.Warningf("%s", text)
	}
}

// reportedName is written last into the report folder: its absence tells the
// clean-up that the run was killed.
const reportedName = ".reported"

// reportFolder makes the folder that outlives the step, below the runner's
// temporary folder, which the agent never sees.
func (s *step) reportFolder(id string) (string, error) {
	dir := folderOf(s.Getenv, id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making the report folder: %w", err)
	}
	return dir, nil
}

func folderOf(getenv func(string) string, id string) string {
	temp := getenv("RUNNER_TEMP")
	if temp == "" {
		temp = os.TempDir()
	}
	return filepath.Join(temp, "claude-sandbox-"+id)
}

// validID is what names of containers may consist of.
var validID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// runID returns the id that the install step made for this run, which the
// clean-up step knows too; several runs may share a job and a machine.
func runID(getenv func(string) string) (string, error) {
	id := getenv("SBX_RUN_ID")
	if !validID.MatchString(id) {
		err := fmt.Errorf("SBX_RUN_ID is %q, which is no name for a run", id)
		return "", diag.WithHint(err, "action run is called by action.yml; use sbx-devc run elsewhere")
	}
	return id, nil
}

func nonNil(err error) []error {
	if err == nil {
		return nil
	}
	return []error{err}
}

func joined(errs []error) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, ";\n") // the summary shows one a line
}

func orNone(s string) string { return cmp.Or(s, "none") }
