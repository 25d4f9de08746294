package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/agent/structured"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// Held is the sandbox of a run with Options.Hold, which goes on until End, a signal or its
// time limit. Programs and prompts of the caller's run
// in it, several at once. It is safe for concurrent use.
type Held struct {
	engine   *engine.Engine
	plan     *runplan.Plan
	host     Host
	redactor *redact.Redactor // of all that is kept and said
	activity *activity        // of the run
	journal  journal
	sessions *credproxy.Sessions
	end      func() error

	mu     sync.Mutex
	asked  []*modelAPI    // of each prompt, for their sums
	kept   io.WriteCloser // the transcript of all; nil = there is none
	unkept error          // why it is not whole
}

// ID is that of the run.
func (h *Held) ID() string { return h.plan.ID }

// End ends the sandbox with everything in it. Run returns when that is done.
func (h *Held) End() { _ = h.end() }

// Exec runs a program in the sandbox, see Exec.
func (h *Held) Exec(ctx context.Context, o ExecOptions) (code int, err error) {
	return Exec(ctx, h.engine, h.plan.ID, o)
}

// PromptOptions are one prompt in a sandbox that is held.
type PromptOptions struct {
	Prompt string
	Dir    string // where Claude works, absolute in the container; "" = where the agent begins
	// Change makes of the run's agent.Headless that of this prompt.
	Change func(agent.Headless) agent.Headless
	Schema *structured.Schema // that the answer must fit; nil = it is text
	Stdout io.Writer          // receives Claude's standard output, byte for byte
}

// Prompted is what became of a prompt. All but Agent is counted on this side.
type Prompted struct {
	Outcome agent.Outcome
	Agent   *agent.Result // nil = Claude came to no result; its word
	Answers int64         // requests that the model API answered
	Usage   credproxy.Usage
	USD     float64 // at list price
	Models  []spending.Spent
}

// Causes for which a prompt is ended early.
var (
	errHopeless    = errors.New("the model API refused the credential")
	errUnreachable = errors.New("the model API does not answer")
)

// Prompt has a Claude of its own answer a prompt, and judges it as Run does. It has a
// session token of its own, so that its requests are counted apart and its limits are its
// own; a budget for each run holds for each prompt. When ctx ends so does Claude: a
// deadline is a timeout, all else a cancellation. An error means that Claude could not
// be started, with what was spent.
func (h *Held) Prompt(ctx context.Context, o PromptOptions) (*Prompted, error) {
	plan := *h.plan
	plan.Asked.Headless = o.Change(plan.Asked.Headless)
	if o.Schema != nil {
		plan.Asked.Headless.JSONSchema = o.Schema.Text()
	}
	api, err := newModelAPI(&plan, h.host)
	if err != nil {
		return nil, err
	}
	defer api.proxy.Close()
	h.mu.Lock()
	h.asked = append(h.asked, api)
	h.mu.Unlock()
	defer h.sessions.Add(api.proxy)()

	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case <-api.keyRefused:
			stop(errHopeless)
		case <-api.reach.lost:
			stop(errUnreachable)
		case <-ctx.Done():
		}
	}()
	lines := &keptLines{held: h}
	scanner := agent.NewScanner(h.activity.writer(&output{to: io.MultiWriter(lines, o.Stdout)}), func(ev agent.Event) {
		h.journal.event(ev)
		if retry, ok := ev.(agent.APIRetry); ok && retry.Hopeless() {
			api.refuseKey()
		}
	})
	stderr := agentErrors(h.host.Stderr, h.redactor)
	code, err := h.Exec(ctx, ExecOptions{
		Command: h.plan.ClaudeCommand(plan.Asked.Headless), Dir: o.Dir, Env: []string{tokenVariable + api.token},
		Stdin: strings.NewReader(o.Prompt), Stdout: scanner, Stderr: stderr,
	})
	_, _ = scanner.Close(), stderr.Close()
	lines.flush()
	cause := context.Cause(ctx)
	if cause == nil && err != nil {
		return h.spent(api), fmt.Errorf("running Claude Code: %w", err)
	}
	quiet, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	api.proxy.Quiet(quiet)
	p := h.spent(api)
	evidence := api.evidence(scanner, o.Prompt)
	evidence.ExitCode, evidence.End, p.Agent = code, endOf(cause), evidence.Result
	p.Outcome = judge(evidence, o.Schema)
	hideSecrets(h.redactor, &p.Outcome, &p.Agent)
	return p, nil
}

// endOf is how a Claude ended whose context has this cause; nil = it goes on.
func endOf(cause error) agent.End {
	switch {
	case cause == nil:
		return agent.EndedItself
	case errors.Is(cause, errHopeless):
		return agent.EndedHopeless
	case errors.Is(cause, errUnreachable):
		return agent.EndedUnreachable
	case errors.Is(cause, context.DeadlineExceeded):
		return agent.EndedTimeout
	}
	return agent.EndedCancel
}

// spent is what a prompt took so far.
func (h *Held) spent(api *modelAPI) *Prompted {
	return &Prompted{Answers: api.proxy.Answered(), Usage: api.proxy.Usage(), USD: api.proxy.CostUSD(), Models: api.proxy.Models()}
}

// addTo ends the transcript, and adds what the prompts spent to the result of the run. The
// error says why the transcript is not whole.
func (h *Held) addTo(result *Result) error {
	h.close()
	h.mu.Lock()
	defer h.mu.Unlock()
	sums := map[string]spending.Spent{}
	total := spending.Spent{Usage: result.Usage, USD: result.MeteredUSD}
	for _, m := range result.Models {
		sums[m.Model] = m
	}
	for _, api := range h.asked {
		result.Answers += api.proxy.Answered()
		for _, m := range api.proxy.Models() {
			total = total.Add(m)
			sum := sums[m.Model]
			sum.Model = m.Model
			sums[m.Model] = sum.Add(m)
		}
	}
	result.Usage, result.MeteredUSD, result.Models = total.Usage, total.USD, nil
	for _, m := range sums {
		result.Models = append(result.Models, m)
	}
	slices.SortFunc(result.Models, func(a, b spending.Spent) int { return cmp.Or(cmp.Compare(b.USD, a.USD), cmp.Compare(a.Model, b.Model)) })
	return h.unkept
}

// keep writes whole lines to the transcript.
func (h *Held) keep(lines []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kept == nil {
		return
	}
	if _, err := h.kept.Write(lines); err != nil {
		h.unkept = errors.Join(err, h.kept.Close())
		h.kept = nil
	}
}

// close ends the transcript.
func (h *Held) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kept != nil {
		h.unkept = h.kept.Close()
		h.kept = nil
	}
}

// maxHeldLine bounds a line that waits for its end, in bytes.
const maxHeldLine = 1 << 20

// keptLines passes one Claude's output on to the transcript of all, in whole lines.
type keptLines struct {
	held *Held
	line []byte
}

func (k *keptLines) Write(p []byte) (int, error) {
	k.line = append(k.line, p...)
	end := bytes.LastIndexByte(k.line, '\n')
	if len(k.line) > maxHeldLine {
		end = len(k.line) - 1
	}
	if end >= 0 {
		k.held.keep(k.line[:end+1])
		k.line = append(k.line[:0], k.line[end+1:]...)
	}
	return len(p), nil
}

func (k *keptLines) flush() {
	if len(k.line) > 0 {
		k.held.keep(append(k.line, '\n'))
		k.line = nil
	}
}
