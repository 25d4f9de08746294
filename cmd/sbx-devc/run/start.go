package run

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/images"
	"github.com/org/claude-sandbox/session/journal"
	"github.com/org/claude-sandbox/workspace"
)

// run does one run in a place, from flags to exit code.
func run(ctx context.Context, a *cli.App, at place, o Options) (err error) {
	d, err := decide(ctx, a, at, &o)
	if err != nil {
		return err
	}
	if o.dryRun {
		_, err := fmt.Fprintln(a.Stdout, d.plan)
		return err
	}
	if err := projects.Runs(a).CheckNameFree(o.result.name); err != nil {
		return err
	}
	l := launch{App: a, o: o, decided: d}
	if l.summary, err = o.result.openSummary(d.plan.Folder()); err != nil {
		return err
	}
	if l.log, err = openJournal(a, &o, d.plan); err != nil {
		return err
	}
	defer l.log.Close()
	defer func() { recordFailure(l.log, err) }()
	if l.host, err = host(ctx, a, o, d.plan); err != nil {
		return err
	}
	recordHost(l.log, d.plan, l.host)
	l.host.Home = d.home
	l.host.Accepted = func() map[string][]byte { return projects.Runs(a).Accepted(at.dir) }
	if err := d.plan.Closed(); err != nil {
		return WithCode(err)
	}
	if l.host.Kept, err = o.profile.open(a, d.plan); err != nil {
		return err
	}
	if l.host.Kept != nil {
		defer l.host.Kept.Close()
	}
	return l.start(ctx)
}

// launch is a run that was decided, with everything on this side that it needs.
type launch struct {
	*cli.App
	o Options
	decided
	host    *sandbox.Host
	summary *session.SummaryFile // nil = none is wanted
	log     *journal.Journal
}

// start brings the images, does the run and tells what became of it.
func (l *launch) start(ctx context.Context) (err error) {
	if l.o.held == nil { // a worker ends its sandbox itself
		signals, stop := catchSignals()
		defer stop()
		l.host.Signals = signals
	}
	e, err := l.connect(ctx)
	if err != nil {
		return WithCode(err)
	}
	defer e.Close()
	if err := l.bring(ctx, e); err != nil {
		return WithCode(err)
	}
	if l.host.StateDir, err = projects.Runs(l.App).Make(l.plan.ID); err != nil {
		return err
	}
	l.log.Keep(l.host.StateDir)
	// From here on signals go to the agent, so they must not cancel what
	// supervises it.
	ctx = context.WithoutCancel(ctx)
	l.host.Say("the run " + l.plan.ID + " starts in " + l.plan.Folder())
	if l.o.terminal.on || l.o.terminal.detach {
		leave, failure := joinTerminal(l.App, l.o.terminal, l.plan, l.host)
		if failure != nil {
			return failure
		}
		defer func() {
			recordFailure(l.log, err) // which leave tells, and returns no more
			err = leave(err)
		}()
	}
	if l.o.held != nil {
		l.host.OnBegin = func(h *sandbox.Held) { l.o.held(h, l.plan) }
	}
	out := attachOutput(l.App, l.host, l.o.output.format)
	result, err := sandbox.Run(ctx, e, l.plan, *l.host)
	out.finish(result)
	Report(l.App, result, l.plan.Network.Mode)
	projects.Runs(l.App).Prune(ctx, e, time.Now(), l.o.result.keep)
	if l.summary != nil {
		if saveErr := l.summary.Save(result, err); saveErr != nil {
			err = errors.Join(err, saveErr)
		}
	}
	return exitOfRun(l.App, result, err)
}

// connect connects to an engine that can do the run. One that cannot let the agent write to
// the project's own folder gets a clone, unless the user chose how the agent has it.
func (l *launch) connect(ctx context.Context) (*engine.Engine, error) {
	e, err := session.FittingEngine(ctx, l.plan, session.SilentEngine, l.host.Say)
	if l.in == nil || !errors.Is(err, runplan.ErrOwners) {
		return e, err
	}
	plan, failure := l.in(workspace.Clone)
	if failure != nil { // err says what else there is
		return nil, err
	}
	if e, err = session.FittingEngine(ctx, plan, session.SilentEngine, l.host.Say); err != nil {
		return nil, err
	}
	l.plan = plan
	l.host.Say("note: for the agent on this Docker, which does not run as root, your files would be root's: it works on a clone " +
		"(--workspace clone), and 'sbx-devc review' brings its work back")
	return e, nil
}

// bring has the engine get what the plan needs.
func (l *launch) bring(ctx context.Context, e *engine.Engine) error {
	cache, err := images.CacheDir()
	if err != nil {
		return exitcode.With(exitcode.Internal, err)
	}
	progress := l.Progress(l.o.log.verbose, cache)
	progress.Log = l.log.Builds()
	bring := images.Images{Engine: e, Getenv: l.Getenv, Progress: progress, Option: "--image", Cache: cache, Choice: l.choice,
		Published: release.FirewallImage()}
	defer progress.Await(session.WaitingForImages, session.SilentEngine)()
	if err := session.JoinServices(ctx, e, l.plan, l.host.Say); err != nil {
		return err
	}
	if err := bring.Bring(ctx, l.plan); err != nil || l.o.containers.noCache || l.o.profile.fresh {
		return err
	}
	return bring.Volumes().GiveCache(ctx, l.plan, l.plan.Folder())
}

// catchSignals has the signals that end a run sent to a channel.
func catchSignals() (signals <-chan os.Signal, stop func()) {
	caught := make(chan os.Signal, 4)
	signal.Notify(caught, cli.EndSignals()...)
	return caught, func() { signal.Stop(caught) }
}

// host gathers what a run needs on this side: prompt, key, streams, folder.
// Everything that can be missing is found missing here, before a container starts.
func host(ctx context.Context, a *cli.App, o Options, plan *runplan.Plan) (*sandbox.Host, error) {
	noteVariables(a)
	var prompt string
	if o.held == nil && !o.terminal.on || o.prompt.text != "" || o.prompt.file != "" {
		var err error
		if prompt, err = readPrompt(a, o.prompt, plan.Folder()); err != nil {
			return nil, exitcode.With(exitcode.NoInput, err)
		}
	}
	getenv, err := KeyOf(ctx, a, &o.settings.Secrets, plan.Folder())
	if err != nil {
		return nil, err
	}
	upstream, credential, err := session.ModelAPI(getenv)
	if err != nil {
		return nil, err
	}
	values, err := resolveSecrets(ctx, plan)
	if err != nil {
		return nil, err
	}
	providers, err := Providers(ctx, plan.Asked.Providers, plan.Folder())
	if err != nil {
		return nil, err
	}
	say := func(line string) { fmt.Fprintf(a.Stderr, "sbx-devc: %s\n", line) }
	if credential.OfCloud() {
		say("note: the model is asked at " + visible.Line(upstream.Host))
	}
	return &sandbox.Host{
		Secrets: sandbox.Secrets{Values: values, Providers: providers},
		Prompt:  strings.NewReader(prompt), Title: firstWords(prompt), Stderr: a.Stderr, Say: say,
		Upstream: upstream, Credential: credential, UpstreamProxy: http.ProxyFromEnvironment, LiveDir: projects.Runs(a).Live(),
		Ledger: projects.Runs(a).Ledger(plan.ID, plan.Folder()),
	}, nil
}
