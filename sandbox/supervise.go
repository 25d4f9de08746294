package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// drainTimeout bounds reading what is left in the pipes after an exit.
const drainTimeout = 10 * time.Second

// supervise waits for the agent's end, passes signals on, enforces the time
// limit and watches the sidecar. It fills in the result.
func (r *run) supervise(ctx context.Context) error {
	var (
		exit        engine.Exit
		ended       = agent.EndedItself
		failure     error
		stop        = &stopper{run: r, ctx: context.WithoutCancel(ctx)}
		signals     = r.host.Signals
		sidecar     = r.sidecar.exit
		refused     = r.api.keyRefused
		unreachable = r.api.reach.lost
		tunnel      = r.tunnel.Done()
		done        = ctx.Done()
		look        = time.NewTicker(placesPause)
		idle        = newIdleTimer(r.plan.Asked.IdleTimeout)
		warn, limit <-chan time.Time
		caught      syscall.Signal
	)
	if d := time.Duration(r.plan.Timeout); d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		limit = t.C
		soon := time.NewTimer(d - warnBefore(d))
		defer soon.Stop()
		warn = soon.C
	}
	defer look.Stop()
	defer idle.timer.Stop()
	counting, stopCounting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopCounting()
	moments, stopMoments := context.WithCancel(context.WithoutCancel(ctx))
	defer stopMoments()
	held, broken := r.sidecar.canaries.watch(moments), r.sidecar.canaries.news()
	use := watchUse(counting, r.engine, r.agent.id)
	if r.plan.Agent.TTY {
		unreachable = nil // Claude tells the person, who may wait or try again
	}
	stop.timer = time.NewTimer(time.Hour)
	stop.timer.Stop() // until somebody stops the agent
	defer stop.timer.Stop()
wait:
	for {
		select {
		case exit = <-r.agent.exit:
			break wait
		case sig := <-signals:
			if caught != 0 {
				r.host.Say("second signal: killing the agent")
				stop.send("KILL")
				continue
			}
			caught, ended = sig.(syscall.Signal), agent.EndedCancel
			r.host.Say("stopping the agent; a second signal kills it")
			stop.send(signalName(caught))
		case <-warn:
			d := time.Duration(r.plan.Timeout)
			r.host.Say(fmt.Sprintf("warning: the time limit of %s is over in %s", d, warnBefore(d)))
		case <-idle.timer.C:
			if idle.over(r.activity) {
				r.host.Say(fmt.Sprintf("Claude has done nothing for %s: stopping the agent", r.plan.Asked.IdleTimeout))
				ended, failure = agent.EndedTimeout, fmt.Errorf("%w: Claude did nothing for %s", ErrTimeout, r.plan.Asked.IdleTimeout)
				stop.interrupt()
			}
		case <-limit:
			r.host.Say(fmt.Sprintf("the time limit of %s is over: stopping the agent", time.Duration(r.plan.Timeout)))
			ended, failure = agent.EndedTimeout, fmt.Errorf("%w: %s", ErrTimeout, time.Duration(r.plan.Timeout))
			stop.interrupt()
		case <-refused:
			refused = nil
			ended = agent.EndedHopeless
			failure = diag.WithHint(fmt.Errorf("%w (HTTP 401 or 403)", ErrKey), "check ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN, and "+
				"that it belongs to %s", r.host.Upstream)
			stop.interrupt()
		case <-unreachable:
			unreachable = nil
			ended, failure = agent.EndedUnreachable, r.api.reach.failure(r.host.Upstream.Redacted())
			stop.interrupt()
		case <-done:
			done, ended = nil, agent.EndedCancel
			stop.interrupt()
		case e := <-sidecar:
			// Its rules stay in force, but nobody answers for them now.
			sidecar, r.sidecar.exit = nil, nil
			failure = r.firewallEnded(e)
			stop.send("KILL")
		case <-tunnel:
			// Without it Claude would ask a closed port for minutes.
			tunnel = nil
			if failure == nil {
				failure = fmt.Errorf("%w while the agent ran; the agent was stopped: %s", ErrTunnel, strings.TrimSpace(r.tunnel.stderr.String()))
				stop.interrupt()
			}
		case err := <-broken:
			broken, failure = nil, r.sidecar.canaries.note(err)
			stop.send("KILL")
		case <-look.C:
			if len(r.agent.places.Replaced()) > 0 {
				look.Stop()
				stop.send("KILL")
			}
		case <-stop.timer.C:
			stop.escalate()
		}
	}
	if exit.Code == exitcode.Internal && (failure == nil || errors.Is(failure, ErrTunnel)) { // the tunnel goes with the firewall
		failure = cmp.Or(r.endedInside(), failure)
	}
	stopCounting()
	stopMoments()
	failure = cmp.Or(r.lastCanary(ctx, <-held, ended), failure)
	r.result.Use = <-use
	if exit.Code == exitcode.DiskFull && failure == nil && r.plan.Disk > 0 {
		failure = diag.WithHint(fmt.Errorf("%w, %s", ErrDisk, size(r.plan.Disk)),
			"what it did is kept; raise the limit with --disk, or leave that out")
	}
	if errors.Is(failure, ErrTimeout) {
		ended = agent.EndedTimeout
	}
	r.ending = newEnding(ctx, r.endBound(), r.host.Signals, r.host.Say)
	replaced := r.agent.places.Replaced()
	r.agent.places.Close()
	r.result.Timings.Agent = time.Since(r.agent.started)
	r.waits.on("the agent's last output")
	r.drain(r.ending.look)
	if r.agent.leaveTerminal != nil {
		r.agent.leaveTerminal()
	}
	_ = r.tunnel.Close() // its handlers end, and the meter is complete
	if exit.Err != nil {
		failure = errors.Join(failure, exit.Err)
	}
	r.conclude(ctx, exit, ended, caught, failure, unprotected(replaced, exit.Code))
	return failure
}

// endedInside says whether the agent's container ended because the firewall's did:
// both end by themselves when we are late, see package lifeline, and the agent's
// never outlives the firewall's process. An agent can end with the same code; nil
// then.
func (r *run) endedInside() error {
	if r.sidecar.exit == nil {
		return nil
	}
	select {
	case e := <-r.sidecar.exit:
		r.sidecar.exit = nil
		return r.firewallEnded(e)
	case <-time.After(newsLag):
		return nil
	}
}

// firewallEnded says what it means that the firewall's container ended while the
// agent's ran, or right before it.
func (r *run) firewallEnded(e engine.Exit) error {
	if d := time.Duration(r.plan.Timeout); d > 0 && time.Since(r.agent.started) >= d {
		return fmt.Errorf("%w: %s", ErrTimeout, d) // this process was stopped meanwhile
	}
	return fmt.Errorf("%w with exit code %d while the agent ran; the agent was "+
		"stopped: %s", ErrFirewall, e.Code, strings.TrimSpace(r.sidecar.stderr.String()))
}

// newsLag is how much later than one container's end the engine may tell of
// another's that ended before.
const newsLag = 2 * time.Second

// conclude judges the run and collects what the sidecar recorded. unprotected is
// what lost its protection.
func (r *run) conclude(ctx context.Context, exit engine.Exit, ended agent.End, caught syscall.Signal, failure error, unprotected string) {
	r.result.Agent = r.agent.scanner.Result()
	r.result.ExitCode = exit.Code
	r.result.Answers, r.result.Usage, r.result.MeteredUSD = r.api.proxy.Answered(), r.api.proxy.Usage(), r.api.proxy.CostUSD()
	r.result.Models = r.api.proxy.Models()
	if claimed := r.result.Agent.Tokens(); claimed != tokens(r.result.Usage) && r.result.Agent != nil {
		r.host.Say(fmt.Sprintf("note: Claude reports %d tokens and $%.4f, and the proxy metered %d tokens and $%.4f; turns are Claude's word",
			claimed, r.result.Agent.CostUSD, tokens(r.result.Usage), r.result.MeteredUSD))
	}
	limit := map[credproxy.Reached]agent.Conclusion{
		credproxy.ReachedTurns: agent.MaxTurns, credproxy.ReachedBudget: agent.MaxBudget, credproxy.ReachedLoop: agent.MaxRepeats,
	}[r.api.proxy.Reached()]
	evidence := agent.Evidence{
		Result: r.result.Agent, Tampered: r.agent.scanner.Tampered(), ExitCode: exit.Code, End: ended, Answers: r.result.Answers,
		Unprotected: unprotected, Last: agent.Answer(r.api.proxy.LastAnswer()), HookOpen: r.api.proxy.HookOpen(),
		Prompt: r.agent.prompt.String(), Limit: limit,
	}
	if r.plan.Agent.TTY {
		r.result.Outcome = agent.JudgeAttended(evidence)
	} else {
		r.result.Outcome = agent.Judge(evidence)
		r.checkAnswer()
	}
	switch {
	case errors.Is(failure, ErrUnenforced):
		r.result.ExitCode = exitcode.Internal
		r.result.Outcome = agent.Outcome{Conclusion: agent.Failure, Message: failure.Error()}
	case unprotected != "":
		r.result.ExitCode = exitcode.Unprotected
		r.warn(unprotected)
	case errors.Is(failure, ErrTimeout):
		r.result.ExitCode = exitcode.Timeout
	case errors.Is(failure, ErrDisk):
		r.result.ExitCode = exitcode.DiskFull
		r.result.Outcome = agent.Outcome{Conclusion: agent.Failure, Message: failure.Error()}
	case errors.Is(failure, ErrUpstream):
		r.result.ExitCode = exitcode.Failed
		r.result.Outcome.Message = failure.Error()
	case caught != 0:
		r.result.ExitCode = exitcode.Signal + int(caught)
		if r.result.Outcome.Conclusion == agent.Cancelled {
			r.result.Outcome.Message += " by a signal: " + caught.String()
		}
	case errors.Is(failure, ErrFirewall), errors.Is(failure, ErrTunnel):
		r.result.ExitCode = exitcode.Internal
		r.result.Outcome = agent.Outcome{Conclusion: agent.Failure, Message: failure.Error()}
	case exit.Code == exitcode.Signal+int(syscall.SIGKILL) && r.engine.OOMKilled(context.WithoutCancel(ctx), r.agent.id):
		r.host.Say("the kernel killed the agent because it ran out of memory: raise the limit with --memory")
	case exit.Code == exitcode.Signal+int(syscall.SIGKILL) && ended == agent.EndedItself: // Podman 4.3 never says why
		r.host.Say("something killed the agent, most often the kernel because memory ran out: raise the limit with --memory")
	}
	r.hideSecrets()
	var left []string
	if r.plan.Asked.CommitLeft && unprotected == "" {
		var err error
		r.waits.on("git to commit what the agent left")
		if left, err = r.commitWorkTree(r.ending.look); err != nil {
			r.warn(fmt.Sprintf("not all that the agent left uncommitted is in a commit: %v", err))
			r.lose("the commit of what the agent left")
		}
	}
	r.waits.on("the agent's work to come back")
	r.fetchTree(r.ending.look)
	r.search.begin(r.ending.look)
	r.takeCommits(r.ending.look, left)
	r.waits.on("the conversation and the network's log")
	r.keepConversations(r.ending.look)
	r.keepHome(r.ending.look)
	if err := r.collect(r.ending.look); err != nil {
		r.host.Say("warning: " + err.Error())
		r.loseUnwritten("the network's log", err)
	}
}

// checkAnswer holds a successful run's answer against the schema that it was asked for.
func (r *run) checkAnswer() {
	schema := r.plan.Asked.Schema
	if schema == nil || !r.result.Outcome.OK() {
		return
	}
	if err := schema.Check(r.result.Agent.Structured); err != nil {
		r.result.Outcome = agent.Outcome{Conclusion: agent.SchemaMismatch, Message: err.Error()}
	}
}

// warn says a warning, which is in the result as well.
func (r *run) warn(text string) {
	text = strings.ReplaceAll(text, "\n", "; ") // of joined errors
	r.host.Say("warning: " + text)
	r.result.Warnings = append(r.result.Warnings, text)
}
