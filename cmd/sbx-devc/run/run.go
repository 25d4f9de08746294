package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/images"
	"github.com/org/claude-sandbox/session/journal"
	"github.com/org/claude-sandbox/session/runs"
	"github.com/org/claude-sandbox/workspace"
)

// Options are the flags of run. Each group is about one subject and has a file of its own.
type Options struct {
	prompt       promptFlags
	agent        agentFlags
	settings     SettingsFlags
	profile      profileFlags
	instructions instructionFlags
	containers   containerFlags
	output       outputFlags
	terminal     terminalFlags
	Sandbox      SandboxFlags
	result       resultFlags
	log          logFlags
	dryRun       bool
}

// Titles of the help that flags of several groups have.
const (
	obeysTitle      = "What Claude obeys"
	containersTitle = "Containers and engine"
)

// group is a group of run's flags.
type group interface {
	// title stands above the flags in the help.
	Title() string
	Register(f *pflag.FlagSet)
	// check refuses values that no run can have. f knows which flags were given.
	check(f *pflag.FlagSet) error
	// plan adds what the flags ask of the plan. It reads no file.
	plan(p *runplan.Options)
}

func (o *Options) groups() []group {
	return []group{
		&o.prompt,
		&o.agent,
		&o.settings,
		&o.profile,
		&o.instructions,
		&o.containers,
		&o.output,
		&o.terminal,
		&o.Sandbox,
		&o.result,
		&o.log,
	}
}

func Command(a *cli.App) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "run [DIR] [flags] [PROMPT] [-- [PROMPT] CLAUDE_ARGS…]",
		Short: "Run Claude Code on a folder, sandboxed",
		Long: `Run Claude Code on DIR in two containers: a firewall that lets only allowlisted
traffic out, and the agent, which has no capability and no key. Without DIR it is the
project around the current folder, and the agent begins in that folder.
Where the project is a part of a repository, the agent gets the repository, so that
git works; name the project's folder to show it alone.

On a terminal, without a prompt, it is Claude Code's own interface, as 'claude' is.
Ctrl-P Ctrl-Q leaves it running for 'sbx-devc attach', Ctrl-Z suspends your side.
With a prompt the agent works alone and answers, as 'claude -p' does; with -i it is the
interface, which begins with the prompt, as 'claude PROMPT' does. The prompt is
an argument, comes from --prompt-file or on standard input, whose text is added to an
argument. An argument that names a folder is DIR; a prompt of one word comes after DIR
or after --.

The agent reaches the model, through a proxy here, and nothing else: --preset and
--allow open hosts, such as --preset npm. The project's
.devcontainer/sandbox.jsonc may only narrow what you allow, and the image of its dev
container is not taken, until you accept both: on a terminal run asks once,
'sbx-devc trust' does it anywhere, and --trust-project for this run alone. The file is then
taken as it is, but for the presets anthropic, claude-code and vscode, which only a dev
container needs.

With a prompt, a terminal shows the agent's work as it goes on; elsewhere standard output
is the final answer, as with 'claude -p'. --output-format text, json (Claude's
result event) or stream-json (Claude's output, byte for byte) chooses. The exit
code is Claude's own, or 64 usage, 65 bad settings, 66 input missing, 69 no engine,
70 internal, 71 a protected path was replaced on this machine, 74 too much disk, 75 the profile
is in use, 77 refused, 78 no key, 124 timeout, 125 a container did not start.

The key (ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN) stays in this process:
a proxy here adds it to the agent's requests. SBX_DEVC_UPSTREAM names another
base URL of the API, for gateways and tests. Every flag that takes a value can
be given as a variable too, such as SBX_DEVC_ALLOW or SBX_DEVC_TIMEOUT; other
variables of that prefix are refused. Lists take @FILE and @~/FILE.`,
		Example: `  sbx-devc run
  sbx-devc run "fix the failing test"
  sbx-devc run ~/src/app --prompt-file task.md --allow docs.example.com --preset npm --timeout 30m
  git diff | sbx-devc run -p "review this change" >review.md
  sbx-devc run --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := UnknownVariables(os.Environ(), cmd.Flags()); err != nil {
				return exitcode.With(exitcode.Usage, err)
			}
			if err := FlagsFromEnv(cmd.Flags(), a.Getenv); err != nil {
				return exitcode.With(exitcode.Usage, err)
			}
			given, err := readRunArguments(args, cmd.ArgsLenAtDash())
			if err != nil {
				return err
			}
			o.prompt.text, o.agent.arguments = given.prompt, given.claude
			o.terminal.on = onTerminal(a, &o)
			for _, group := range o.groups() {
				if err := group.check(cmd.Flags()); err != nil {
					return exitcode.With(exitcode.Usage, err)
				}
			}
			choice, err := SandboxChoice(a, &o, given.dir)
			if err != nil {
				return err
			}
			if choice.None {
				if err := onlyPlain(cmd.Flags()); err != nil {
					return err
				}
				without := o.dryRun
				if !without {
					if without, err = acceptsRisks(cmd.Context(), a, &o.Sandbox, choice); err != nil {
						return err
					}
				}
				if without {
					dir, folder := projects.RunDir(a, given.dir)
					return runUnconfined(a, o, dir, folder, choice)
				}
			}
			if o.terminal.needsSupervisor() && !o.dryRun {
				return supervise(cmd.Context(), a, o.terminal)
			}
			dir, folder := projects.RunDir(a, given.dir)
			shown := dir
			if given.dir == "" {
				shown, folder = projects.Shown(a, dir, folder)
			}
			return run(cmd.Context(), a, dir, shown, folder, o)
		},
	}
	for _, group := range o.groups() {
		cli.Group(cmd.Flags(), group.Title(), group.Register)
	}
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the plan as JSON and touch nothing")
	return cmd
}

// limitsLimit refuses flags of these names that are zero, negative or no number: a user
// who gives one would have a run without that limit, and not know it.
func limitsLimit(flags *pflag.FlagSet, names ...string) error {
	for _, name := range names {
		f := flags.Lookup(name)
		value := f.Value.String()
		if f.Changed && (value == "0" || value == "0s" || strings.HasPrefix(value, "-") || value == "NaN" || value == "+Inf") {
			return diag.WithHint(fmt.Errorf("--%s %s is no limit", name, f.Value), "give more than 0, or leave it out")
		}
	}
	return nil
}

// run does one run with the settings and the dev container of the project in dir, from
// flags to exit code. The agent gets the folder shown, which is dir or around it; folder is
// where in that the user stands.
func run(ctx context.Context, a *cli.App, dir, shown, folder string, o Options) (err error) {
	o.settings.persist = &o.profile.persist
	user, err := o.settings.Read(shown)
	if err == nil {
		err = o.profile.readPersist()
	}
	if err != nil {
		return err
	}
	if err := foldersOutside(a, shown); err != nil {
		return err
	}
	if !o.dryRun {
		projects.Runs(a).Reap(ctx)
	}
	earlier, err := earlierConversation(a, shown, o.prompt)
	if err != nil {
		return err
	}
	own, layers, err := UserLayers(a, shown, o.profile.name)
	if err != nil {
		return PlanError(a, err)
	}
	for _, l := range layers { // the user's own file alone has one
		o.agent.model = cmp.Or(o.agent.model, l.File.Own.Model)
	}
	project, err := session.ReadProject(dir)
	if err != nil {
		return PlanError(a, err)
	}
	project.Shown = shown
	options := runplan.Options{ID: runs.NewID(), User: user, Own: own, Folder: folder, Environ: os.Environ(), OwnFolders: ownFolders(a)}
	options.Remote = engine.Elsewhere(os.Getenv)
	options.Tree = filepath.Join(projects.Runs(a).Dir(), options.ID, sandbox.TreeFolder)
	for _, group := range o.groups() {
		group.plan(&options)
	}
	options.Headless.Resume = earlier.ID
	if options.Variables, err = variables(a, &o.settings.Secrets, shown); err != nil {
		return err
	}
	effective, err := acceptProject(ctx, a, project, &options, !o.dryRun)
	if err != nil {
		return PlanError(a, err)
	}
	texts, err := instructionFiles(a, project, o.instructions, effective.Instructions, &options)
	if err != nil {
		return err
	}
	plan, err := project.Plan(options, effective)
	if err != nil {
		return PlanError(a, err)
	}
	if o.dryRun {
		_, err := fmt.Fprintln(a.Stdout, plan)
		return err
	}
	if err := projects.Runs(a).CheckNameFree(o.result.name); err != nil {
		return err
	}
	summary, err := o.result.openSummary(plan.Folder())
	if err != nil {
		return err
	}
	log, err := openJournal(a, &o, plan)
	if err != nil {
		return err
	}
	defer log.Close()
	defer func() { recordFailure(log, err) }()
	host, err := host(ctx, a, o, plan)
	if err != nil {
		return err
	}
	recordHost(log, plan, host)
	host.Home = append(texts, earlier.Files(plan.Agent.WorkingDir)...)
	if err := plan.Closed(); err != nil {
		return WithCode(err)
	}
	if host.Kept, err = o.profile.open(a, plan); err != nil {
		return err
	}
	if host.Kept != nil {
		defer host.Kept.Close()
	}
	return start(ctx, a, o, project.Choice, plan, host, summary, log)
}

// foldersOutside refuses folders of runs and of images in the project, whose agent could
// write there: the first is believed about what a run left, the second about which image
// is the firewall's.
func foldersOutside(a *cli.App, project string) error {
	if workspace.CheckFolder(project) != nil {
		return nil // which Plan refuses
	}
	cache, err := images.CacheDir()
	if err != nil {
		return exitcode.With(exitcode.Internal, err)
	}
	err = cmp.Or(
		userdir.Outside("runs", projects.Runs(a).Dir(), project, "XDG_STATE_HOME"),
		userdir.Outside("images", cache, project, "XDG_CACHE_HOME"))
	if err != nil {
		return exitcode.With(exitcode.Config, err)
	}
	return nil
}

// silentEngine is how long an engine may say nothing before the person hears of it.
const silentEngine = 2 * time.Second

// fittingEngine connects to the engine and fits the plan to it. An engine that is busy or
// stuck takes its time, so say gets a sentence when that is longer than patience.
func fittingEngine(ctx context.Context, plan *runplan.Plan, patience time.Duration, say func(string)) (*engine.Engine, error) {
	slow := time.AfterFunc(patience, func() { say("waiting for the container engine to answer") })
	defer slow.Stop()
	e, err := engine.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if note := e.Note(); note != "" {
		say(note)
	}
	if err := plan.FitEngine(ctx, e); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// start brings the images, does the run and tells what became of it.
func start(ctx context.Context, a *cli.App, o Options, choice images.Choice, plan *runplan.Plan, host *sandbox.Host,
	summary *session.SummaryFile, log *journal.Journal) (err error) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	host.Signals = signals

	e, err := fittingEngine(ctx, plan, silentEngine, host.Say)
	if err != nil {
		return WithCode(err)
	}
	defer e.Close()
	cache, err := images.CacheDir()
	if err != nil {
		return exitcode.With(exitcode.Internal, err)
	}
	progress := a.Progress(o.log.verbose, cache)
	progress.Log = log.Builds()
	bring := images.Images{Engine: e, Getenv: a.Getenv, Progress: progress, Option: "--image", Cache: cache, Choice: choice}
	if err := bring.Bring(ctx, plan); err != nil {
		return WithCode(err)
	}
	if !o.containers.noCache && !o.profile.fresh {
		if err := bring.Volumes().GiveCache(ctx, plan, plan.Folder()); err != nil {
			return WithCode(err)
		}
	}
	if host.StateDir, err = projects.Runs(a).Make(plan.ID); err != nil {
		return err
	}
	log.Keep(host.StateDir)
	// From here on signals go to the agent, so they must not cancel what
	// supervises it.
	ctx = context.WithoutCancel(ctx)
	host.Say("the run " + plan.ID + " starts in " + plan.Folder())
	if o.terminal.on || o.terminal.detach {
		leave, failure := joinTerminal(a, o.terminal, plan, host)
		if failure != nil {
			return failure
		}
		defer func() {
			recordFailure(log, err) // which leave tells, and returns no more
			err = leave(err)
		}()
	}
	out := attachOutput(a, host, o.output.format)
	result, err := sandbox.Run(ctx, e, plan, *host)
	out.finish(result)
	Report(a, result, plan.Network.Mode)
	projects.Runs(a).Prune(ctx, e, time.Now(), o.result.keep)
	if summary != nil {
		if saveErr := summary.Save(result, err); saveErr != nil {
			err = errors.Join(err, saveErr)
		}
	}
	return exitOfRun(a, result, err)
}

// host gathers what a run needs on this side: prompt, key, streams, folder.
// Everything that can be missing is found missing here, before a container starts.
func host(ctx context.Context, a *cli.App, o Options, plan *runplan.Plan) (*sandbox.Host, error) {
	noteVariables(a)
	var prompt string
	if !o.terminal.on || o.prompt.text != "" || o.prompt.file != "" {
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
	values, err := resolveSecrets(ctx, a, plan)
	if err != nil {
		return nil, err
	}
	say := func(line string) { fmt.Fprintf(a.Stderr, "sbx-devc: %s\n", line) }
	return &sandbox.Host{
		Secrets: values,
		Prompt:  strings.NewReader(prompt), Title: firstWords(prompt), Stderr: a.Stderr, Say: say,
		Upstream: upstream, Credential: credential, UpstreamProxy: http.ProxyFromEnvironment, LiveDir: projects.Runs(a).Live(),
	}, nil
}
