package run

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/runplan"
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
	held         func(*sandbox.Held, *runplan.Plan) // gets the sandbox of a worker; nil = the run has an agent
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
taken as it is, except for the presets anthropic, claude-code and vscode, which only a dev
container needs.

With a prompt, a terminal shows the agent's work as it goes on; elsewhere standard output
is the final answer, as with 'claude -p'. --output-format text, json (Claude's
result event) or stream-json (Claude's output, byte for byte) chooses. The exit
code is Claude's own, or 64 usage, 65 bad settings, 66 input missing, 69 no engine,
70 internal, 71 a protected path was replaced on this machine, 74 too much disk, 75 the profile
is in use, 77 refused, 78 no key, 124 timeout, 125 a container did not start.

The key (ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN) stays in this process:
a proxy here adds it to the agent's requests. ANTHROPIC_BASE_URL names a gateway
and ANTHROPIC_AUTH_TOKEN its token, as for Claude Code. Every flag that takes a value can
be given as a variable too, such as SBX_DEVC_ALLOW or SBX_DEVC_TIMEOUT; other
variables of that prefix are refused. Lists take @FILE and @~/FILE.`,
		Example: `  sbx-devc run
  sbx-devc run "fix the failing test"
  sbx-devc run ~/src/app --prompt-file task.md --allow docs.example.com --preset npm --timeout 30m
  git diff | sbx-devc run -p "review this change" >review.md
  sbx-devc run --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error { return start(cmd, a, &o, args) },
	}
	for _, group := range o.groups() {
		cli.Group(cmd.Flags(), group.Title(), group.Register)
	}
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the plan as JSON and touch nothing")
	return cmd
}

// start reads arguments, flags and variables, and does the run that they ask for: in this
// process, in another one that outlives it, or without a sandbox.
func start(cmd *cobra.Command, a *cli.App, o *Options, args []string) error {
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
	o.terminal.on = onTerminal(a, o)
	for _, group := range o.groups() {
		if err := group.check(cmd.Flags()); err != nil {
			return exitcode.With(exitcode.Usage, err)
		}
	}
	if err := o.agent.readSchema(o.terminal.on); err != nil {
		return err
	}
	choice, err := SandboxChoice(a, o, given.dir)
	if err != nil {
		return err
	}
	without := false
	if choice.None {
		if err := onlyPlain(cmd.Flags()); err != nil {
			return err
		}
		if without, err = acceptsRisks(cmd.Context(), a, o, choice); err != nil {
			return err
		}
	}
	if o.terminal.needsSupervisor() && !o.dryRun && !without {
		return supervise(a, o.terminal)
	}
	var at place
	at.dir, at.folder = projects.RunDir(a, given.dir)
	if without {
		return runUnconfined(a, *o, at.dir, at.folder, choice)
	}
	if at.shown = at.dir; given.dir == "" {
		at.shown, at.folder = projects.Shown(a, at.dir, at.folder)
	}
	return run(cmd.Context(), a, at, *o)
}
