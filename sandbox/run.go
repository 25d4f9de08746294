package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/excerpt"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/internal/tunnel"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox/kept"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
)

// Host is what a run touches outside of the containers. All fields are
// required unless they say otherwise.
type Host struct {
	Prompt  io.Reader        // goes to Claude's standard input; never on a command line
	Title   string           // the prompt's first words, for lists of runs
	Home    []HomeFile       // that Claude's own folder begins with
	Kept    *kept.Store      // of what outlives the run in the agent's home; nil = nothing does
	Stdout  io.Writer        // receives Claude's standard output, byte for byte
	Stderr  io.Writer        // receives Claude's standard error
	Say     func(string)     // one line for people: warnings and what is going on; called concurrently
	Signals <-chan os.Signal // the first one goes to the agent, a second one kills it; nil = none come
	// Upstream is the base URL of the model API and Credential the key for
	// it. Both stay in this process.
	Upstream   *url.URL
	Credential credproxy.Credential
	// Ledger is where all runs of this user note what they spend; nil = this one
	// counts for itself, and has no budget that it shares.
	Ledger  spending.Ledger
	Secrets Secrets
	// UpstreamProxy says how to reach the API from here, such as
	// http.ProxyFromEnvironment; nil = directly.
	UpstreamProxy func(*http.Request) (*url.URL, error)
	// StateDir is the folder of this run, for transcript, audit log and
	// summary. It must exist.
	StateDir string
	// LiveDir is the folder in which runs that go on are noted, so that Reap finds
	// those whose program was killed; "" = this one is not. One user's runs on one
	// machine share it.
	LiveDir string
	// Terminal is that of a run with Options.Terminal, which needs no Prompt, Stdout
	// and OnEvent.
	Terminal Terminal
	Callbacks
	// CommitTimeout is how long committing the work tree may take; 0 = 30 seconds.
	CommitTimeout time.Duration
	// Log gets a record of each step, event and result, with the attribute "what". Texts in
	// it may be the agent's and hold secrets: see Plan.Redactor. nil = none is kept.
	Log *slog.Logger
}

// Callbacks are what a run tells its caller, or asks it. Each may be nil.
type Callbacks struct {
	// OnBegin is called when the agent begins. In a run with Options.Hold, which needs no
	// Prompt, it gets the sandbox; held is nil in others.
	OnBegin func(held *Held)
	// OnEvent hears what the agent does.
	OnEvent func(agent.Event)
	// Accepted returns the files that the user has accepted as they are now, by their real
	// paths. Their content is the user's word, and no change of the run. It is asked when the
	// agent has ended.
	Accepted func() map[string][]byte
}

// cleanupTimeout bounds removing the containers, which goes on when the
// caller's context has ended.
const cleanupTimeout = 30 * time.Second

// Run carries out a plan: firewall first, then the agent, then it collects
// and removes everything, in every case. Failures before the agent's start and
// those of our own parts are errors (ErrNoStart, ErrFirewall, ErrEngine,
// ErrTimeout, ErrKey, ErrUnkept); an agent that fails is none: see Result.Outcome.
func Run(ctx context.Context, e *engine.Engine, p *runplan.Plan, h Host) (result *Result, err error) {
	say := h.Say
	known := p.Redactor(h.Secrets.Values)
	h.Say = func(line string) { say(known.String(visible.Line(line))) }
	r := newRun(e, p, h, known)
	r.result.ID, r.result.Name, r.result.Folder = p.ID, p.Name, p.Folder()
	r.result.FolderIdentity = filekind.Identity(p.Folder())
	if len(p.Secrets) > 0 || r.search.secrets != nil {
		r.result.sources = sourcesOf(p, r.search.secrets.Names())
	}
	r.result.Workspace, r.result.SettingsFolder = string(p.Place.Mode), cmp.Or(p.Asked.ProjectDir, p.Folder())
	defer func() { result, err = r.finish(ctx, err) }()
	r.result.Prompt = known.String(visible.Line(h.Title))
	r.waits = waits{say: h.Say, patience: patience}
	r.waits.on("the container engine to answer")
	if err = p.CheckKeys(h.Secrets.Values); err == nil {
		err = p.FitEngine(ctx, e)
	}
	for _, one := range p.Asked.Passthroughs {
		err = cmp.Or(err, passthroughAnswers(ctx, one))
	}
	if err == nil {
		r.waits.on("the copy of the project to be made")
		err = r.tree.make(ctx)
		r.waits.on("the container engine to answer")
	}
	if err != nil {
		close(r.search.looked)
		return nil, r.failed(err)
	}
	r.search.start(ctx)
	if err := r.folder.saveFirstSummary(&r.result); err != nil {
		return nil, r.failed(err)
	}
	if r.api, err = newModelAPI(p, h); err != nil {
		return nil, err
	}
	defer r.api.proxy.Close()
	if p.Asked.Hold {
		r.hold()
		defer r.api.held.close()
	}
	for _, w := range p.Warnings {
		h.Say("warning: " + w)
	}
	for _, n := range p.Notes {
		h.Say("note: " + n)
	}
	if r.live, err = noteLive(e, p, h, r.search.secrets); err != nil {
		h.Say(fmt.Sprintf("warning: %v; should this program be killed, its containers end, but are not removed", err))
	}
	r.search.noted = r.live != nil
	if r.placed, err = place(p, h.LiveDir); err != nil {
		r.live.end()
		return nil, r.failed(err)
	}
	defer r.cleanup(ctx)
	r.live.placed(r.placed.Made())
	p.Sidecar.Labels = maps.Clone(p.Sidecar.Labels)
	p.Sidecar.Labels[labelGit] = layoutLabel(p.Project.Git)
	if err := r.start(ctx); err != nil {
		r.result.ExitCode = 125
		if r.failed(err); ctx.Err() != nil {
			r.result.Outcome = agent.Outcome{Conclusion: agent.Cancelled, Message: "the run was cancelled"}
		}
		return nil, err
	}
	return nil, r.supervise(ctx)
}

// hold prepares the run to be held, which ends when its standard input does.
func (r *run) hold() {
	in, out := io.Pipe()
	r.host.Prompt = in
	h := &Held{
		engine: r.engine, plan: r.plan, host: r.host, redactor: r.redactor, activity: r.activity, journal: r.journal,
		sessions: credproxy.NewSessions(r.api.proxy), end: out.Close,
	}
	if t, err := r.folder.transcript(r.host.Say); err != nil {
		r.notices.unkept("the transcript", err)
	} else {
		r.result.Files.Transcript = t.file.Name()
		h.kept = &closers{r.redactor.Writer(t), t.file}
	}
	r.api.held = h
}

// failed notes in the result why a run has not begun, and returns it.
func (r *run) failed(err error) error {
	r.result.Outcome = agent.Outcome{Conclusion: agent.Failure, Message: err.Error()}
	return err
}

// finish ends the run, removes what is not needed any more and saves the summary. err is
// why the run failed, and failure is the error for the caller.
func (r *run) finish(ctx context.Context, err error) (result *Result, failure error) {
	p, h := r.plan, r.host
	r.result.Warnings = append(r.result.Warnings, p.Warnings...)
	for _, n := range p.Notes {
		r.result.Notes = append(r.result.Notes, visible.Line(n))
	}
	if r.agent != nil && r.ending == nil { // it may have run, though it did not come to its end
		r.ending = newEnding(ctx, endBound(p), h.Signals, h.Say)
	}
	if r.agent == nil {
		r.tree.drop()
	}
	if r.ending != nil {
		r.waits.on("the search for what changed in the project")
		r.search.end(r.ending.look)
		r.ending.stop()
		if code := r.ending.signal(); code != 0 {
			r.result.ExitCode = code
		}
	}
	r.waits.on("")
	if !r.search.forget() && r.notices.untaken == nil { // all is searched
		r.result.sources = nil
	}
	for _, line := range usesInWords(r.keys.uses(r.redactor.String)) {
		h.Say(line) // Result.Egress has it in full
	}
	for i, w := range r.result.Warnings { // names in them may be the agent's
		r.result.Warnings[i] = r.redactor.String(visible.Line(w))
	}
	r.result.Timings.Total = r.journal.since()
	failure = r.notices.settle(err)
	if saveErr := r.folder.saveSummary(&r.result, failure); saveErr != nil {
		r.notices.unkept("the summary", saveErr)
		if failure == nil {
			failure = r.notices.settle(nil)
		}
	}
	r.journal.end(&r.result, failure)
	return &r.result, failure
}

// place makes the places that mounts need in the project. liveDir is Host.LiveDir.
func place(p *runplan.Plan, liveDir string) (*workspace.Placed, error) {
	if lock, err := holdPlaces(liveDir); err == nil {
		defer lock.Close()
	}
	uid, gid := p.AgentUser()
	placed, err := workspace.Place(p.Folder(), p.Project.Placeholders, uid, gid)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoStart, err)
	}
	return placed, nil
}

// meetOthers names the runs in the same folder.
func meetOthers(ctx context.Context, e *engine.Engine, p *runplan.Plan, say func(string)) {
	others, err := e.Containers(ctx, runplan.LabelWorkspace, p.Folder())
	if err != nil || p.Place.Mode != workspace.Bind {
		return
	}
	for _, c := range others {
		own := c.Labels[runplan.LabelRun] == p.ID // its firewall's container is being made
		if !own && !c.Ended && c.Labels[runplan.LabelRole] == runplan.RoleSidecar && c.Labels[runplan.LabelMode] == "" {
			say(fmt.Sprintf("note: the run %s is in this folder, too", c.Labels[runplan.LabelRun]))
		}
	}
}

// run is the state of one Run.
type run struct {
	engine *engine.Engine
	plan   *runplan.Plan
	host   Host
	folder folder // Host.StateDir
	result Result

	journal  journal
	notices  *notices
	tree     *tree
	live     *live // nil = no other process reaps this run
	placed   *workspace.Placed
	sidecar  *sidecar
	tunnel   *tunnelHost
	keys     *keyHolder // nil = the run has no keys
	agent    *process
	api      *modelAPI
	activity *activity
	waits    waits
	redactor *redact.Redactor // of all that is kept and said
	search   *search
	ending   *ending // nil until the agent has ended
}

// newRun is a run of which nothing has happened. known are the secrets that are kept out of
// what is said.
func newRun(e *engine.Engine, p *runplan.Plan, h Host, known *redact.Redactor) *run {
	r := &run{engine: e, plan: p, host: h, folder: folder(h.StateDir), journal: journal{h.Log, time.Now()},
		activity: newActivity(), redactor: known}
	r.notices = &notices{say: h.Say, result: &r.result}
	r.tree = &tree{e, p, r.folder, r.notices}
	r.search = newSearch(r.tree, p.Finder(h.Secrets.Values), known)
	r.search.accepted = h.Accepted
	return r
}

// start brings up everything until the agent runs. The agent's container comes up side
// by side with the firewall, as soon as the network is closed: all that runs in it is
// our own first process, which starts the agent when begin says so. That is last, when
// the firewall is verified, the mounts are those of the plan, the tunnel accepts
// connections and the project's files have been looked at.
func (r *run) start(ctx context.Context) error {
	var err error
	r.waits.on("the container engine to make the firewall's container")
	err = together(
		func() (err error) {
			r.sidecar, err = createSidecar(ctx, r.engine, r.plan)
			return err
		},
		func() error {
			meetOthers(ctx, r.engine, r.plan, r.host.Say)
			return nil
		},
	)
	if err != nil {
		return err
	}
	err = together(
		func() error {
			err := r.startContainers(ctx)
			r.waits.on("the look at the project's files, with which they are compared at the end")
			return err
		},
		r.search.wait,
	)
	if err != nil {
		return err
	}
	if r.keys, err = openKeys(ctx, r.engine, r.sidecar.id, r.plan, r.host.Secrets); err != nil {
		return err
	}
	r.waits.on("the agent to begin")
	if err := r.beginAgent(ctx); err != nil {
		return err
	}
	r.waits.on("")
	r.live.begun()
	if r.live != nil {
		r.search.record()
	}
	if r.host.OnBegin != nil {
		r.host.OnBegin(r.api.held)
	}
	r.result.Timings.Startup = r.journal.since()
	r.journal.about(aboutStart).Info("the agent begins", "ms", r.result.Timings.Startup.Milliseconds())
	return nil
}

// startContainers starts both containers, and the tunnel.
func (r *run) startContainers(ctx context.Context) error {
	r.waits.on("the container engine to start both containers")
	err := together(
		func() error { return r.startSidecar(ctx) },
		func() error { return r.createAgent(ctx) },
	)
	if err != nil {
		return err
	}
	return together(
		func() error {
			if err := r.sidecar.closed(ctx); err != nil {
				return err
			}
			r.journal.step("the network is closed", r.journal.since())
			r.waits.on("the firewall to be verified, and the agent's container to start")
			return together(
				func() error { return r.verified(ctx) },
				func() error { return r.startAgent(ctx) },
			)
		},
		func() error {
			r.sidecar.canaries.prepare(ctx)
			return nil
		},
		func() (err error) {
			r.tunnel, err = openTunnel(ctx, r.engine, r.sidecar.id, tunneled(r.plan.Asked.Passthroughs, r.activity, r.api.handler()))
			if err == nil {
				r.journal.step("the tunnel to the model API is open", r.journal.since())
			}
			return err
		},
	)
}

// verified waits until the firewall has tested itself, and tries the first canary.
func (r *run) verified(ctx context.Context) error {
	if err := r.sidecar.verified(ctx, &r.result.Timings); err != nil {
		return err
	}
	r.journal.step("the firewall is verified", r.result.Timings.SidecarReady)
	if err := r.sidecar.canaries.note(r.sidecar.canaries.try(ctx, "before the agent began")); err != nil {
		return fmt.Errorf("%w: %w", ErrNoStart, err)
	}
	return nil
}

// startSidecar fills and starts the firewall's container, which createSidecar has made.
func (r *run) startSidecar(ctx context.Context) error {
	begin := time.Now()
	if err := r.sidecar.fill(ctx, r.engine, r.plan, r.host); err != nil {
		return err
	}
	r.result.Timings.SidecarCreate = time.Since(begin)
	r.journal.step("the firewall's container is there", r.result.Timings.SidecarCreate)
	if err := r.sidecar.start(ctx, r.engine, &r.result.Timings); err != nil {
		return err
	}
	// Now: the engine says nothing of a container while another one joins its network.
	if r.sidecar.canaries = newCanaries(ctx, r.engine, r.plan, r.sidecar.id); r.sidecar.canaries != nil {
		r.result.Canaries = r.sidecar.canaries.result
	}
	return nil
}

// together runs steps side by side and returns when all have ended, with the error of
// the first one in the list that failed: the others may have failed because of it.
func together(steps ...func() error) error {
	errs := make([]error, len(steps))
	var wait sync.WaitGroup
	for i, step := range steps {
		wait.Go(func() { errs[i] = step() })
	}
	wait.Wait()
	return cmp.Or(errs...)
}

// createAgent makes the agent's container, which joins the network of the
// firewall's.
func (r *run) createAgent(ctx context.Context) error {
	spec := r.plan.Agent
	spec.Network, spec.VolumesOf = "container:"+r.sidecar.id, r.sidecar.id
	spec.Env = slices.Clone(spec.Env)
	for i, v := range spec.Env {
		switch v {
		case tokenVariable:
			spec.Env[i] += r.api.token
		case runplan.ProvidersTokenVariable:
			spec.Env[i] += r.api.providersToken
		}
	}
	spec.Env = append(spec.Env, r.host.Credential.Variables("http://"+tunnel.ListenAddress)...)
	mounts, err := r.plan.Project.WriteFiles(r.host.StateDir)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoStart, err)
	}
	spec.Mounts = append(runplan.EngineMounts(mounts), spec.Mounts[len(mounts):]...) // Claude's folder and Claude Code come last
	if err := writeAccount(r.plan, r.host.StateDir, spec.Mounts); err != nil {
		return err
	}
	r.plan.Relabel(spec.Mounts)
	id, err := r.engine.Create(ctx, spec)
	if err != nil {
		return imageError(err, spec.Image)
	}
	transcript := newLiveTranscript(func() (*transcript, error) { return r.folder.transcript(r.host.Say) })
	r.agent = &process{engine: r.engine, id: id, copied: make(chan error, 1), prompt: excerpt.Head{Most: 1 << 10},
		problem: excerpt.Tail{Most: 1 << 10}, transcript: transcript}
	r.journal.step("the agent's container is there", r.journal.since())
	return nil
}

// tokenVariable is the variable of the session token as agent.Env writes it
// into a plan, which has no token yet.
const tokenVariable = "ANTHROPIC_AUTH_TOKEN="
