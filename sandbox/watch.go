package sandbox

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// watch waits for the agent's end, and ends it when it must not go on. A channel that is
// nil tells nothing, or no more.
type watch struct {
	course
	plan     *runplan.Plan
	host     Host
	agent    *process
	sidecar  *sidecar
	tunnel   *tunnelHost
	reach    *reach
	activity *activity
	stop     *stopper

	signals     <-chan os.Signal
	done        <-chan struct{} // of the run's context
	sidecarEnd  <-chan engine.Exit
	tunnelEnd   <-chan struct{}
	refused     <-chan struct{} // the key, by the model API
	unreachable <-chan struct{} // the model API
	broken      <-chan error    // a canary's connection
	limit, soon *time.Timer     // the time limit, and the warning before it
	idle        *idleTimer
	look        *time.Ticker // at protected places
}

func newWatch(ctx context.Context, r *run) *watch {
	w := &watch{
		course: course{ended: agent.EndedItself}, plan: r.plan, host: r.host,
		agent: r.agent, sidecar: r.sidecar, tunnel: r.tunnel, reach: r.api.reach, activity: r.activity,
		stop:    &stopper{agent: r.agent, say: r.host.Say, ctx: context.WithoutCancel(ctx), timer: stoppedTimer()},
		signals: r.host.Signals, done: ctx.Done(), sidecarEnd: r.sidecar.exit, tunnelEnd: r.tunnel.Done(),
		refused: r.api.keyRefused, unreachable: r.api.reach.lost, broken: r.sidecar.canaries.news(),
		limit: stoppedTimer(), soon: stoppedTimer(), idle: newIdleTimer(r.plan.Asked.IdleTimeout), look: time.NewTicker(placesPause),
	}
	if d := time.Duration(r.plan.Timeout); d > 0 {
		w.limit.Reset(d)
		w.soon.Reset(d - warnBefore(d))
	}
	if r.plan.Agent.TTY || r.api.held != nil {
		w.unreachable = nil // Claude tells the person, who may wait or try again; a prompt has its own
	}
	return w
}

func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

func (w *watch) close() {
	for _, t := range []*time.Timer{w.stop.timer, w.limit, w.soon, w.idle.timer} {
		t.Stop()
	}
	w.look.Stop()
}

// wait returns when the agent's container has ended.
func (w *watch) wait() {
	limit := time.Duration(w.plan.Timeout)
	for {
		select {
		case w.exit = <-w.agent.exit:
			return
		case s := <-w.signals:
			w.pass(s)
		case <-w.soon.C:
			w.host.Say(fmt.Sprintf("warning: the time limit of %s is over in %s", limit, warnBefore(limit)))
		case <-w.limit.C:
			w.host.Say(fmt.Sprintf("the time limit of %s is over: stopping the agent", limit))
			w.interrupt(agent.EndedTimeout, fmt.Errorf("%w: %s", ErrTimeout, limit))
		case <-w.idle.timer.C:
			w.lookAtActivity()
		case <-w.refused:
			w.refused = nil
			w.interrupt(agent.EndedHopeless, diag.WithHint(fmt.Errorf("%w (HTTP 401 or 403)", ErrKey),
				"check ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN, and that it belongs to %s", w.host.Upstream))
		case <-w.unreachable:
			w.unreachable = nil
			w.interrupt(agent.EndedUnreachable, w.reach.failure(w.host.Upstream.Redacted()))
		case <-w.done:
			w.done = nil
			w.interrupt(agent.EndedCancel, w.failure)
		case e := <-w.sidecarEnd:
			// Its rules stay in force, but no process verifies them now.
			w.sidecarEnd, w.sidecar.exit = nil, nil
			w.failure = w.firewallEnded(e)
			w.stop.send("KILL")
		case <-w.tunnelEnd:
			// Without it Claude would ask a closed port for minutes.
			w.tunnelEnd = nil
			if w.failure == nil {
				ended := fmt.Errorf("%w while the agent ran; the agent was stopped", ErrTunnel)
				w.interrupt(w.ended, saying(ended, w.tunnel.stderr.String()))
			}
		case err := <-w.broken:
			w.broken, w.failure = nil, w.sidecar.canaries.note(err)
			w.stop.send("KILL")
		case <-w.look.C:
			if len(w.agent.places.Replaced()) > 0 {
				w.look.Stop()
				w.stop.send("KILL")
			}
		case <-w.stop.timer.C:
			w.stop.escalate()
		}
	}
}

// firewallEnded says what it means that the firewall's container ended while the
// agent's ran, or right before it.
func (w *watch) firewallEnded(e engine.Exit) error {
	if d := time.Duration(w.plan.Timeout); d > 0 && time.Since(w.agent.started) >= d {
		return fmt.Errorf("%w: %s", ErrTimeout, d) // this process was stopped meanwhile
	}
	if e.Err != nil {
		return engineGone(e.Err)
	}
	ended := fmt.Errorf("%w with exit code %d while the agent ran; the agent was stopped", ErrFirewall, e.Code)
	return saying(ended, w.sidecar.stderr.String())
}

const engineHint = "if the container engine was stopped or restarted, start the run again when 'sbx-devc doctor' finds it"

// engineGone says that the engine lost track of a container, or its daemon went away.
func engineGone(err error) error {
	return diag.WithHint(fmt.Errorf("%w while the agent ran: %w", ErrEngine, err), engineHint)
}

// saying adds what a program said before it ended. One that is killed says nothing.
func saying(err error, said string) error {
	if said = strings.TrimSpace(said); said != "" {
		return fmt.Errorf("%w: %s", err, said)
	}
	return diag.WithHint(err, engineHint)
}

// interrupt begins to stop the agent, and remembers why.
func (w *watch) interrupt(ended agent.End, failure error) {
	w.ended, w.failure = ended, failure
	w.stop.interrupt()
}

// pass gives the agent the first signal, and kills it at the second.
func (w *watch) pass(s os.Signal) {
	if w.caught != 0 {
		w.host.Say("second signal: killing the agent")
		w.stop.send("KILL")
		return
	}
	w.caught, w.ended = s.(syscall.Signal), agent.EndedCancel
	w.host.Say("stopping the agent; a second signal kills it")
	w.stop.send(signalName(w.caught))
}

func (w *watch) lookAtActivity() {
	if w.idle.over(w.activity) {
		d := w.plan.Asked.IdleTimeout
		w.host.Say(fmt.Sprintf("Claude has done nothing for %s: stopping the agent", d))
		w.interrupt(agent.EndedTimeout, fmt.Errorf("%w: Claude did nothing for %s", ErrTimeout, d))
	}
}
