package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/agent/structured"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// drainTimeout bounds reading what is left in the pipes after an exit.
const drainTimeout = 10 * time.Second

// course is how the agent's time went, for conclude to judge.
type course struct {
	exit        engine.Exit
	ended       agent.End
	caught      syscall.Signal // the first one that somebody sent to the run; 0 = none
	failure     error
	unprotected string // what lost its protection; "" = nothing
}

// supervise waits for the agent's end, passes signals on, enforces the time
// limit and watches the sidecar. It fills in the result.
func (r *run) supervise(ctx context.Context) error {
	c, proved := r.watchAgent(ctx)
	r.ending = newEnding(ctx, endBound(r.plan), r.host.Signals, r.host.Say)
	c.unprotected = unprotected(r.agent.places.Replaced(), c.exit.Code)
	r.agent.places.Close()
	r.result.Timings.Agent = time.Since(r.agent.started)
	r.waits.on("the agent's last output")
	r.agent.drain(r.ending.look, r.notices)
	if r.agent.leaveTerminal != nil {
		r.agent.leaveTerminal()
	}
	_ = r.tunnel.Close() // its handlers end, and the meter is complete
	if c.exit.Err != nil {
		c.failure = engineGone(c.exit.Err)
	}
	return r.conclude(ctx, c, proved)
}

// watchAgent waits until the agent has ended, by itself or because of one of the things
// that end it, and finds out why. Over the channel comes what the last canary proves.
func (r *run) watchAgent(ctx context.Context) (c course, proved <-chan error) {
	counting, stopCounting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopCounting()
	moments, stopMoments := context.WithCancel(context.WithoutCancel(ctx))
	defer stopMoments()
	held := r.sidecar.canaries.watch(moments)
	use := watchUse(counting, r.engine, r.agent.id)
	w := newWatch(ctx, r)
	w.wait()
	w.close()
	c = w.course
	if c.exit.Code == exitcode.Internal && (c.failure == nil || errors.Is(c.failure, ErrTunnel)) { // the tunnel goes with the firewall
		// Both containers end by themselves when we are late, see package lifeline, and the
		// agent's never outlives the firewall's process. An agent can end with the same code.
		if e, ended := r.sidecar.endedToo(); ended {
			c.failure = w.firewallEnded(e)
		}
	}
	stopCounting()
	stopMoments()
	proved = r.sidecar.canaries.last(ctx, <-held, c.ended, r.sidecar.exit == nil)
	r.result.Use = <-use
	if c.exit.Code == exitcode.DiskFull && c.failure == nil && r.plan.Disk > 0 {
		c.failure = diag.WithHint(fmt.Errorf("%w, %s", ErrDisk, size(r.plan.Disk)),
			"what it did is kept; raise the limit with --disk, or leave that out")
	}
	if errors.Is(c.failure, ErrTimeout) {
		c.ended = agent.EndedTimeout
	}
	return c, proved
}

// newsLag is how much later than one container's end the engine may tell of
// another's that ended before.
const newsLag = 2 * time.Second

// conclude judges the run and brings back what it left. It returns why the run failed.
func (r *run) conclude(ctx context.Context, c course, proved <-chan error) error {
	r.result.Agent = r.agent.scanner.Result()
	r.result.ExitCode = c.exit.Code
	r.result.Answers, r.result.Usage, r.result.MeteredUSD = r.api.proxy.Answered(), r.api.proxy.Usage(), r.api.proxy.CostUSD()
	r.result.Models = r.api.proxy.Models()
	if r.api.held != nil {
		if err := r.api.held.addTo(&r.result); err != nil {
			r.notices.unkept("the transcript", err)
		}
	}
	if claimed := r.result.Agent.Tokens(); claimed != tokens(r.result.Usage) && r.result.Agent != nil {
		r.host.Say(fmt.Sprintf("note: Claude reports %d tokens and $%.4f, and the proxy metered %d tokens and $%.4f; turns are Claude's word",
			claimed, r.result.Agent.CostUSD, tokens(r.result.Usage), r.result.MeteredUSD))
	}
	evidence := r.api.evidence(r.agent.scanner, r.agent.prompt.String())
	evidence.Answers = r.result.Answers // of all its prompts
	evidence.ExitCode, evidence.End, evidence.Unprotected = c.exit.Code, c.ended, c.unprotected
	if r.plan.Agent.TTY || r.api.held != nil {
		r.result.Outcome = agent.JudgeAttended(evidence)
	} else {
		r.result.Outcome = judge(evidence, r.plan.Asked.Schema)
	}
	if last := r.agent.lastProblem(); r.result.Outcome.Conclusion == agent.NoResult && last != "" {
		r.result.Outcome.Message += "; its last words: " + last
	}
	nameModelAPI(r.host.Upstream.Host, &r.result.Outcome, &r.result.Agent)
	r.bringBack(c.unprotected == "")
	r.waits.on("the firewall to prove itself a last time")
	c.failure = cmp.Or(<-proved, c.failure)
	r.blame(ctx, c)
	hideSecrets(r.redactor, &r.result.Outcome, &r.result.Agent)
	r.waits.on("the network's log")
	err := together(
		func() error { return r.collect(r.ending.look) },
		func() error { // nothing more is taken from it; cleanup says where that fails
			_ = r.engine.Remove(r.ending.look, r.agent.id)
			return nil
		},
	)
	if err != nil {
		r.host.Say("warning: " + err.Error())
		r.notices.loseUnwritten("the network's log", err)
	}
	return c.failure
}

// judge is agent.Judge, which also holds a success's answer against the schema that it was
// asked for; nil = for none.
func judge(evidence agent.Evidence, schema *structured.Schema) agent.Outcome {
	outcome := agent.Judge(evidence)
	if schema == nil || !outcome.OK() {
		return outcome
	}
	if err := schema.Check(evidence.Result.Structured); err != nil {
		return agent.Outcome{Conclusion: agent.SchemaMismatch, Message: err.Error()}
	}
	return outcome
}

// blame sets the exit code of a run that ended by something other than the agent's own
// work, and says it.
func (r *run) blame(ctx context.Context, c course) {
	switch {
	case errors.Is(c.failure, ErrUnenforced):
		r.result.ExitCode = exitcode.Internal
		r.result.Outcome = agent.Outcome{Conclusion: agent.Failure, Message: c.failure.Error()}
	case c.unprotected != "":
		r.result.ExitCode = exitcode.Unprotected
		r.notices.warn(c.unprotected)
	case errors.Is(c.failure, ErrTimeout):
		r.result.ExitCode = exitcode.Timeout
	case errors.Is(c.failure, ErrDisk):
		r.result.ExitCode = exitcode.DiskFull
		r.result.Outcome = agent.Outcome{Conclusion: agent.Failure, Message: c.failure.Error()}
	case errors.Is(c.failure, ErrUpstream):
		r.result.ExitCode = exitcode.Failed
		r.result.Outcome.Message = c.failure.Error()
	case c.caught != 0:
		r.result.ExitCode = exitcode.Signal + int(c.caught)
		if r.result.Outcome.Conclusion == agent.Cancelled {
			r.result.Outcome.Message += " by a signal: " + c.caught.String()
		}
	case errors.Is(c.failure, ErrFirewall), errors.Is(c.failure, ErrTunnel), errors.Is(c.failure, ErrEngine):
		r.result.ExitCode = exitcode.Internal
		r.result.Outcome = agent.Outcome{Conclusion: agent.Failure, Message: c.failure.Error()}
	case c.exit.Code == exitcode.Signal+int(syscall.SIGKILL) && r.engine.OOMKilled(context.WithoutCancel(ctx), r.agent.id):
		r.killed("the kernel killed the agent because it ran out of memory")
	case c.exit.Code == exitcode.Signal+int(syscall.SIGKILL) && c.ended == agent.EndedItself: // Podman 4.3 never says why
		r.killed("something killed the agent, most often the kernel because memory ran out")
	}
}

// killed says why the agent was killed, also where it left no result to be told instead.
func (r *run) killed(why string) {
	r.host.Say(why + ": raise its limit (--memory, limits.memory or the Action's input memory)")
	if r.result.Outcome.Conclusion == agent.NoResult {
		r.result.Outcome.Message += ": " + why
	}
}

// bringBack brings the agent's work and its conversation to this side. commit says that what
// the agent left uncommitted may be committed.
func (r *run) bringBack(commit bool) {
	var left []string
	if r.plan.Asked.CommitLeft && commit {
		var err error
		r.waits.on("git to commit what the agent left")
		git := committer{r.engine, r.plan, r.sidecar.id, r.folder}
		if left, err = git.commit(r.ending.look, cmp.Or(r.host.CommitTimeout, commitTimeout)); err != nil {
			r.notices.warn(fmt.Sprintf("not all that the agent left uncommitted is in a commit: %v", err))
			r.notices.lose("the commit of what the agent left")
		}
	}
	r.waits.on("the agent's work to come back")
	r.tree.fetch(r.ending.look, r.journal)
	r.search.begin(r.ending.look)
	r.takeCommits(r.ending.look, left)
	r.waits.on("the conversation")
	r.keepConversations(r.ending.look)
	r.keepHome(r.ending.look)
}
