package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/workspace"
)

// process is the agent's container.
type process struct {
	id      string
	stream  *engine.Stream
	exit    <-chan engine.Exit
	scanner *agent.Scanner
	copied  chan error // receives one value when all output has been passed on
	output  *output
	started time.Time
	places  workspace.Places // that are protected
	prompt  beginning
	// leaveTerminal ends the agent's time at the person's terminal; nil = it never had it.
	leaveTerminal func()
}

// beginning keeps the first bytes of what is written to it.
type beginning struct {
	mu   sync.Mutex
	text []byte
}

func (b *beginning) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p[:min(len(p), 1<<10-len(b.text))]...)
	return len(p), nil
}

func (b *beginning) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}

// startAgent connects the streams of the agent's container, starts it and looks at its
// mounts.
func (r *run) startAgent(ctx context.Context) error {
	p := r.agent
	begin := time.Now()
	defer func() { r.result.Timings.AgentStart = time.Since(begin) }()
	var err error
	if p.stream, err = r.engine.Attach(ctx, p.id, true, r.plan.Agent.TTY); err != nil {
		return fmt.Errorf("%w: %w", ErrNoStart, err)
	}
	out := &output{to: r.host.Stdout}
	p.output = out
	seen := visible.NewWriter(&limited{to: r.host.Stderr, left: maxStderr}, "claude: ")
	stderr := r.redactor.Writer(seen)
	p.scanner = agent.NewScanner(out, r.onEvent)
	shown := io.Writer(p.scanner)
	if r.plan.Agent.TTY {
		shown = r.host.Terminal
	} else if r.api.held == nil {
		r.keepTranscript(out)
	}
	p.exit = r.engine.Wait(context.WithoutCancel(ctx), p.id)
	if err := r.plan.Project.CheckSources(); err != nil {
		return err
	}
	if p.places, err = r.plan.Project.Remember(); err != nil {
		return err
	}
	if err := r.engine.Start(ctx, p.id); err != nil {
		return diag.WithHint(fmt.Errorf("%w: %w", ErrNoStart, err), "does the agent's image hold the program %q?", r.plan.Agent.Entrypoint[0])
	}
	report := &mountReport{next: r.activity.writer(shown), told: make(chan surroundings, 1)}
	go func() {
		err := p.stream.Copy(report, stderr)
		close(report.told)
		p.copied <- errors.Join(err, stderr.Close(), seen.Close(), out.close())
	}()
	return r.checkMounted(ctx, report.told)
}

// beginAgent lets the agent begin, and gives it its prompt or its terminal.
func (r *run) beginAgent(ctx context.Context) error {
	if err := r.sidecar.begin(); err != nil {
		return err
	}
	p := r.agent
	if err := r.deliver(ctx); err != nil {
		return err
	}
	p.started = time.Now()
	if r.plan.Agent.TTY {
		r.openTerminal(ctx)
		return nil
	}
	go func() {
		_, _ = io.Copy(p.stream, io.TeeReader(r.host.Prompt, &p.prompt)) // fails when the agent is gone, which its exit tells
		_ = p.stream.CloseWrite()
	}()
	return nil
}

// keepTranscript makes out keep what Claude writes.
func (r *run) keepTranscript(out *output) {
	t, err := r.openTranscript()
	if err != nil {
		r.unkept("the transcript", err)
		return
	}
	r.result.Files.Transcript = t.file.Name()
	out.keep(t, r.redactor)
}

// openTranscript begins the run's transcript.
func (r *run) openTranscript() (*transcript, error) {
	_, file, err := r.stateFile(TranscriptFile)
	if err != nil {
		return nil, err
	}
	return &transcript{file: file, left: maxTranscript, full: func() {
		r.host.Say(fmt.Sprintf("warning: the transcript ends at %d MiB; standard output stays complete", maxTranscript>>20))
	}}, nil
}

// onEvent hears what the agent prints, from the goroutine that copies it.
func (r *run) onEvent(ev agent.Event) {
	r.recordEvent(ev)
	if retry, ok := ev.(agent.APIRetry); ok && retry.Hopeless() {
		r.api.refuseKey()
	}
	if begun, ok := ev.(agent.Init); ok {
		for _, line := range r.plan.FailedServers(&begun) {
			r.host.Say("warning: " + line)
		}
	}
	if r.host.OnEvent != nil {
		r.host.OnEvent(ev)
	}
}
