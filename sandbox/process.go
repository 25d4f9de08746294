package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/excerpt"
	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
)

// process is the agent's container.
type process struct {
	engine  *engine.Engine
	id      string
	stream  *engine.Stream
	exit    <-chan engine.Exit
	scanner *agent.Scanner
	copied  chan error // receives one value when all output has been passed on
	output  *output
	started time.Time
	places  workspace.Places // that are protected
	prompt  excerpt.Head     // its first words
	problem excerpt.Tail     // what it said last on its standard error, without secrets
	// transcript is that of a run on a terminal.
	transcript *liveTranscript
	// leaveTerminal ends the agent's time at the person's terminal; nil = it never had it.
	leaveTerminal func()
}

// attach connects the streams of the container, which has not started.
func (p *process) attach(ctx context.Context, tty bool) (err error) {
	if p.stream, err = p.engine.Attach(ctx, p.id, true, tty); err != nil {
		return fmt.Errorf("%w: %w", ErrNoStart, err)
	}
	p.exit = p.engine.Wait(context.WithoutCancel(ctx), p.id)
	return nil
}

// start starts the container once the sources of its mounts are what the plan has seen.
// Its output goes to stdout and stderr, which is closed at the end, but for what its first
// process tells.
func (p *process) start(ctx context.Context, plan *runplan.Plan, stdout io.Writer, stderr io.WriteCloser) (
	told <-chan surroundings, err error) {
	if err := plan.Project.CheckSources(); err != nil {
		return nil, err
	}
	if p.places, err = plan.Project.Remember(); err != nil {
		return nil, err
	}
	if err := p.engine.Start(ctx, p.id); err != nil {
		return nil, diag.WithHint(fmt.Errorf("%w: %w", ErrNoStart, err), "does the agent's image hold the program %q?", plan.Agent.Entrypoint[0])
	}
	report := &mountReport{next: stdout, told: make(chan surroundings, 1)}
	go func() {
		err := p.stream.Copy(report, stderr)
		close(report.told)
		p.copied <- errors.Join(err, stderr.Close(), p.output.close())
	}()
	return report.told, nil
}

// checkMounted compares the mounts that the container tells with the plan. folder is the
// run's, and boot the id of the kernel's start in the firewall's container. A container that
// ended meanwhile never got a prompt; the supervisor reports how it ended.
func (p *process) checkMounted(ctx context.Context, told <-chan surroundings, plan *runplan.Plan, boot string, in folder) error {
	at, err := awaitTold(ctx, told)
	if err == nil {
		return cmp.Or(at.checkKernel(boot), compareMounts(plan, at, string(in)))
	}
	if !errors.Is(err, errNotTold) {
		return err
	}
	select {
	case exit := <-p.exit:
		p.exit = ended(exit)
		return nil
	case <-time.After(runplan.GraceTerminate): // the news of an end may lag behind
		return err
	}
}

// give gives the agent, which begins, its prompt.
func (p *process) give(prompt io.Reader) {
	go func() {
		_, _ = io.Copy(p.stream, io.TeeReader(prompt, &p.prompt)) // fails when the agent is gone, which its exit tells
		_ = p.stream.CloseWrite()
	}()
}

// drain waits until the agent's last output has been passed on.
func (p *process) drain(ctx context.Context, n *notices) {
	select {
	case err := <-p.copied:
		if err != nil {
			n.say("warning: the agent's output: " + err.Error())
		}
		if p.output.unkept {
			n.lose("the transcript")
		}
	case <-time.After(drainTimeout):
		p.cutOutput(n.say)
	case <-ctx.Done():
		p.cutOutput(n.say)
	}
	_ = p.scanner.Close()
	n.result.Lost = p.output.lost
}

// cutOutput gives up an output that does not end.
func (p *process) cutOutput(say func(string)) {
	_ = p.stream.Close()
	<-p.copied
	say("warning: the agent's output did not end; its last lines may be missing")
}

// agentErrors passes the agent's standard error on to people, without the secrets that known
// knows.
func agentErrors(to io.Writer, known *redact.Redactor) io.WriteCloser {
	seen := visible.NewWriter(&limited{to: to, left: maxStderr}, "claude: ")
	return &closers{known.Writer(seen), seen}
}

// lastProblem is the last line of the agent's standard error; "" = it said nothing there.
func (p *process) lastProblem() string {
	lines := strings.Split(strings.TrimSpace(p.problem.String()), "\n")
	return visible.Line(strings.TrimPrefix(lines[len(lines)-1], "claude: "))
}

// startAgent connects the streams of the agent's container, starts it and looks at its
// mounts.
func (r *run) startAgent(ctx context.Context) error {
	p := r.agent
	begin := time.Now()
	defer func() { r.result.Timings.AgentStart = time.Since(begin) }()
	if err := p.attach(ctx, r.plan.Agent.TTY); err != nil {
		return err
	}
	p.output = &output{to: r.host.Stdout}
	p.scanner = agent.NewScanner(p.output, r.onEvent)
	shown := io.Writer(p.scanner)
	if r.plan.Agent.TTY {
		shown = r.host.Terminal
	} else if r.api.held == nil {
		r.keepTranscript(p.output)
	}
	told, err := p.start(ctx, r.plan, r.activity.writer(shown), agentErrors(io.MultiWriter(r.host.Stderr, &p.problem), r.redactor))
	if err != nil {
		return err
	}
	return p.checkMounted(ctx, told, r.plan, r.sidecar.boot, r.folder)
}

// beginAgent lets the agent begin, and gives it its prompt or its terminal.
func (r *run) beginAgent(ctx context.Context) error {
	if err := r.sidecar.begin(); err != nil {
		return err
	}
	parcel, err := r.plan.Parcel(r.host.Secrets.Values)
	if err == nil {
		err = r.agent.deliver(ctx, parcel, r.plan.Agent.User)
	}
	if err != nil {
		return err
	}
	r.agent.started = time.Now()
	if r.plan.Agent.TTY {
		r.agent.openTerminal(ctx, r.host.Terminal, func(ctx context.Context) {
			r.conversations().follow(ctx, r.plan.Asked.Conversation(), r.agent.started, r.activity)
		})
		return nil
	}
	r.agent.give(r.host.Prompt)
	return nil
}

// keepTranscript makes out keep what Claude writes.
func (r *run) keepTranscript(out *output) {
	t, err := r.folder.transcript(r.host.Say)
	if err != nil {
		r.notices.unkept("the transcript", err)
		return
	}
	r.result.Files.Transcript = t.file.Name()
	out.keep(t, r.redactor)
}

// onEvent hears what the agent prints, from the goroutine that copies it.
func (r *run) onEvent(ev agent.Event) {
	r.journal.event(ev)
	if retry, ok := ev.(agent.APIRetry); ok && retry.Hopeless() {
		r.api.refuseKey()
	}
	if begun, ok := ev.(agent.Init); ok {
		for _, line := range r.plan.FailedServers(&begun) {
			r.host.Say("warning: " + line)
		}
	}
	if r.host.OnEvent != nil {
		if text, ok := ev.(agent.Text); ok {
			ev = agent.Text{Text: withModelAPI(text.Text, r.host.Upstream.Host)}
		}
		r.host.OnEvent(ev)
	}
}
