package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/images"
	"github.com/org/claude-sandbox/session/runs"
)

// runOptions are the flags of run as given.
type runOptions struct {
	print         bool
	folder        string // where in the project the user stands
	prompt        string // given as an argument
	promptFile    string
	outputFormat  string
	goOn          bool   // with the project's newest conversation
	resume        string // the conversation to go on with
	keep          runs.Keep
	userTexts     []string // of the user's instructions, below ~/.claude
	projectHooks  bool     // obey the project's settings
	projectMCP    bool     // start the project's servers
	model         string
	maxTurns      int
	maxBudgetUSD  float64
	systemPrompt  string
	network       string
	allow         []string
	whitelist     []string
	whitelistFile string
	presets       []string
	deny          []string
	private       []string
	envPrefixes   []string
	image         string
	firewallImage string
	engineNetwork string
	memory        string
	cpus          float64
	pids          int64
	timeout       time.Duration
	summaryFile   string
	dryRun        bool
	trustProject  bool
	verbose       bool
	claudePath    string
	hostedWeb     bool
	noFirewall    bool
	readOnly      bool
	commit        bool
}

func (a *app) runCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:         "run [DIR] [flags] [PROMPT] [-- [PROMPT] CLAUDE_ARGS…]",
		Annotations: map[string]string{annotationOwnOutput: "a warning"},
		Short:       "Run Claude Code on a folder, sandboxed",
		Long: `Run Claude Code on DIR in two containers: a firewall that lets only allowlisted
traffic out, and the agent, which has no capability and no key. Without DIR it is the
project around the current folder, and the agent begins in that folder. The prompt is
an argument, comes from --prompt-file or on standard input, whose text is added to an
argument. An argument that names a folder is DIR; a prompt of one word comes after DIR
or after --.

The agent reaches the model, through a proxy here, and nothing else: --preset and
--allow open hosts, such as --preset npm. The project's
.devcontainer/sandbox.jsonc may only narrow what you allow, until you accept it: on
a terminal run asks once, 'sbx-devc trust' does it elsewhere, and --trust-project
for this run alone. It is then taken as it is, but for the presets anthropic,
claude-code and vscode, which only a dev container needs.

On a terminal the agent's work is shown as it goes on; elsewhere standard output
is the final answer, as with 'claude -p'. --output-format text, json (Claude's
result event) or stream-json (Claude's output, byte for byte) chooses. The exit
code is Claude's own, or 64 usage, 65 bad settings, 66 input missing, 69 no engine,
70 internal, 71 a protected path was replaced on this machine, 77 refused,
78 no key, 124 timeout, 125 a container did not start.

The key (ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN) stays in this process:
a proxy here adds it to the agent's requests. SBX_DEVC_UPSTREAM names another
base URL of the API, for gateways and tests. Every flag that takes a value can
be given as a variable too, such as SBX_DEVC_ALLOW or SBX_DEVC_TIMEOUT; other
variables of that prefix are refused. Lists take @FILE and @~/FILE.`,
		Example: `  sbx-devc run "fix the failing test"
  sbx-devc run ~/src/app --prompt-file task.md --allow docs.example.com --preset npm --timeout 30m
  git diff | sbx-devc run -p "review this change" >review.md
  sbx-devc run --dry-run`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := unknownVariables(os.Environ(), cmd.Flags()); err != nil {
				return exitWith(exitUsage, err)
			}
			if err := flagsFromEnv(cmd.Flags(), a.getenv); err != nil {
				return exitWith(exitUsage, err)
			}
			if err := limitsLimit(cmd.Flags()); err != nil {
				return exitWith(exitUsage, err)
			}
			given, err := readRunArguments(args, cmd.ArgsLenAtDash())
			if err != nil {
				return err
			}
			if o.prompt = given.prompt; o.prompt != "" && o.promptFile != "" {
				return exitWith(exitUsage, errors.New("the prompt is given as an argument and with --prompt-file: leave one out"))
			}
			if !slices.Contains(outputFormats, o.outputFormat) {
				return exitWith(exitUsage, unknownValue("output-format", o.outputFormat, outputFormats[1:]...))
			}
			if o.goOn && o.resume != "" {
				return exitWith(exitUsage, errors.New("--continue and --resume exclude each other"))
			}
			dir, folder := a.runDir(given.dir)
			o.folder = folder
			return a.run(cmd.Context(), dir, given.claude, o)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&o.print, "print", "p", false, "run headless, which is the only way yet: one prompt in, one answer out")
	f.StringVar(&o.outputFormat, "output-format", "",
		"text, json or stream-json (default: the agent's work on a terminal, else text)")
	f.StringVar(&o.promptFile, "prompt-file", "", "read the prompt from this file instead of standard input")
	f.BoolVarP(&o.goOn, "continue", "c", false, "go on with the newest conversation of a run in this project")
	f.StringVarP(&o.resume, "resume", "r", "", "go on with the conversation of this run, or of this session of Claude's")
	f.IntVar(&o.keep.Runs, "keep-runs", runs.DefaultKeep.Runs, "keep so many of the newest runs on this machine")
	f.IntVar(&o.keep.Days, "keep-days", runs.DefaultKeep.Days, "keep runs for so many days")
	f.StringSliceVar(&o.userTexts, "user-instructions", nil,
		"your own instructions that Claude gets: CLAUDE.md, skills, agents/NAME.md and the like, below ~/.claude")
	f.BoolVar(&o.projectHooks, "project-settings", false, "obey the project's .claude/settings.json with its hooks: you have read it")
	f.BoolVar(&o.projectMCP, "project-mcp", false, "start the servers in the project's .mcp.json in the sandbox: you have read it")
	f.StringVar(&o.model, "model", "", "Claude's model")
	f.IntVar(&o.maxTurns, "max-turns", 0, "end after this many turns")
	f.Float64Var(&o.maxBudgetUSD, "max-budget-usd", 0, "end after this many US dollars at list price")
	f.StringVar(&o.systemPrompt, "append-system-prompt", "", "text to add to Claude's system prompt")
	o.settingsFlags(f)
	f.StringVar(&o.firewallImage, "firewall-image", "",
		"the firewall's image, with iptables in it (default: one that is built here, once); you trust it")
	f.StringVar(&o.engineNetwork, "engine-network", "",
		"join this network of the engine, to reach services on it (as --allow and --private name them)")
	f.StringVar(&o.claudePath, "claude-path", "", "run the image's own Claude Code at this path (default: the pinned one, from npm)")
	f.BoolVar(&o.hostedWeb, "allow-hosted-web", false, "let the model's provider search and fetch web pages for the agent, past the firewall")
	f.BoolVar(&o.readOnly, "accept-read-only", false, "you know that the agent cannot change the project, as where the folder is root's")
	f.BoolVar(&o.noFirewall, "accept-no-firewall", false,
		"with --network host: you know that the agent then reaches everything that this machine can")
	f.StringVar(&o.summaryFile, "summary-file", "", "write what happened as JSON to this file")
	f.BoolVar(&o.verbose, "verbose", false, "show all that a build or download of the image says")
	f.BoolVar(&o.commit, "commit", false, "also commit what is not committed at the end, on the agent's branch; your index and "+
		"files stay as they are")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the plan as JSON and touch nothing")
	f.BoolVar(&o.trustProject, "trust-project", false,
		"accept the project's sandbox.jsonc as it is, and its skills, commands, agents and output styles: you have read them")
	return cmd
}

// limitsLimit refuses limits of zero and less, and what is no number: whoever gives
// one would have a run without that limit, and not know it.
func limitsLimit(flags *pflag.FlagSet) error {
	for _, name := range []string{"max-turns", "max-budget-usd", "cpus", "pids", "timeout", "keep-runs", "keep-days"} {
		f := flags.Lookup(name)
		value := f.Value.String()
		if f.Changed && (value == "0" || value == "0s" || strings.HasPrefix(value, "-") || value == "NaN" || value == "+Inf") {
			return diag.WithHint(fmt.Errorf("--%s %s is no limit", name, f.Value), "give more than 0, or leave it out")
		}
	}
	return nil
}

// run does one run from flags to exit code.
func (a *app) run(ctx context.Context, dir string, claudeArgs []string, o runOptions) error {
	if err := agent.CheckExtraArgs(claudeArgs); err != nil {
		return exitWith(exitUsage, err)
	}
	user, err := o.settings(dir)
	if err != nil {
		return err
	}
	if !o.dryRun {
		a.runs().Reap(ctx)
	}
	earlier, err := a.earlierConversation(dir, o)
	if err != nil {
		return err
	}
	own, _, err := a.ownSettings(dir)
	if err != nil {
		return a.planError(err)
	}
	project, err := session.ReadProject(dir)
	if err != nil {
		return a.planError(err)
	}
	options := sandbox.Options{
		ID: runs.NewID(), User: user, Own: own, TrustProject: o.trustProject, Folder: o.folder,
		FirewallImage: o.firewallImage, EngineNetwork: o.engineNetwork, Environ: os.Environ(),
		ClaudePath: o.claudePath, AllowHostedWeb: o.hostedWeb, AcceptNoFirewall: o.noFirewall, AcceptReadOnly: o.readOnly,
		CommitLeft: o.commit,
		Headless: agent.Headless{
			Resume: earlier.ID, Model: o.model, MaxTurns: o.maxTurns, MaxBudgetUSD: o.maxBudgetUSD, ExtraArgs: claudeArgs,
			AppendSystemPrompt: strings.TrimSpace(agent.NetworkNotice + "\n" + o.systemPrompt),
		},
	}
	if err := a.acceptProject(ctx, project, &options, !o.dryRun); err != nil {
		return err
	}
	texts, err := a.instructions(dir, o, &options)
	if err != nil {
		return err
	}
	plan, err := project.Plan(options)
	if err != nil {
		return a.planError(err)
	}
	if o.dryRun {
		_, err := fmt.Fprintln(a.stdout, plan)
		return err
	}
	// Found out now, and not when the run has been paid for.
	var summary *session.SummaryFile
	if o.summaryFile != "" {
		if summary, err = session.OpenSummary(o.summaryFile, plan.Folder()); err != nil {
			return exitWith(exitNoInput, fmt.Errorf("--summary-file: %w", err))
		}
	}
	host, err := a.runHost(o, plan)
	if err != nil {
		return err
	}
	host.Home = append(texts, earlier.Files(plan.Agent.WorkingDir)...)
	if err := plan.Closed(); err != nil {
		return runError(err)
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	host.Signals = signals

	e, err := engine.Connect(ctx)
	if err != nil {
		return runError(err)
	}
	defer e.Close()
	cache, err := images.CacheDir()
	if err != nil {
		return exitWith(exitInternal, err)
	}
	bring := images.Images{Engine: e, Getenv: a.getenv, Progress: a.progress(o.verbose, cache), Option: "--image", Cache: cache,
		Choice: project.Choice}
	if err := bring.Bring(ctx, plan); err != nil {
		return runError(err)
	}
	if host.StateDir, err = a.runs().Make(plan.ID); err != nil {
		return err
	}
	// From here on signals go to the agent, so they must not cancel what
	// supervises it.
	ctx = context.WithoutCancel(ctx)
	host.Say("the run " + plan.ID + " starts in " + plan.Folder())
	out := a.attachOutput(host, o.outputFormat)
	result, err := sandbox.Run(ctx, e, plan, *host)
	out.finish(result)
	a.report(result, plan.Network.Mode)
	a.runs().Prune(ctx, e, time.Now(), o.keep)
	a.offerCommits(result)
	if summary != nil {
		if saveErr := summary.Save(result, err); saveErr != nil {
			err = errors.Join(err, saveErr)
		}
	}
	if err != nil {
		return runError(err)
	}
	if !result.Outcome.OK() {
		return exitWith(result.ExitCode, errors.New(result.Outcome.Message))
	}
	if result.Lost != nil {
		err := fmt.Errorf("the output could not be passed on: %w", result.Lost)
		return exitWith(result.ExitCode, diag.WithHint(err, "the agent did its work; all that it said is in %s", result.Files.Transcript))
	}
	return exitWith(result.ExitCode, nil)
}
