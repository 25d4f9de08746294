package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/settings"
)

// runOptions are the flags of run as given.
type runOptions struct {
	print         bool
	promptFile    string
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
}

func (a *app) runCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [DIR] --print [flags] [-- CLAUDE_ARGS…]",
		Short: "Run Claude Code on a folder, sandboxed",
		Long: `Run Claude Code on DIR (default: the current folder) in two containers: a
firewall that lets only allowlisted traffic out, and the agent, which has no
capability and no key. The prompt comes from standard input or --prompt-file.

Standard output is Claude's stream-json, byte for byte; the exit code is
Claude's own, or 64 usage, 65 bad settings, 66 input missing, 69 no engine,
70 internal, 77 refused, 78 no key, 124 timeout, 125 a container did not start.

The key (ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN) stays in this process:
a proxy here adds it to the agent's requests. SBX_DEVC_UPSTREAM names another
base URL of the API, for gateways and tests. Every flag that takes a value can
be given as a variable too, such as SBX_DEVC_ALLOW or SBX_DEVC_TIMEOUT.

The project's .devcontainer/sandbox.jsonc may only narrow what you allow here.`,
		Example: `  echo "fix the failing test" | sbx-devc run --print
  sbx-devc run ~/src/app --print --prompt-file task.md --allow docs.example.com --preset npm --timeout 30m
  sbx-devc run --print --dry-run`,
		Args: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); at > 1 || at < 0 && len(args) > 1 {
				return errors.New("run takes one folder; Claude's own arguments come after --")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flagsFromEnv(cmd.Flags(), a.getenv); err != nil {
				return exitWith(exitUsage, err)
			}
			dir, claudeArgs := ".", args
			if at := cmd.ArgsLenAtDash(); at < 0 && len(args) == 1 || at == 1 {
				dir, claudeArgs = args[0], args[1:]
			}
			return a.run(cmd.Context(), dir, claudeArgs, o)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&o.print, "print", "p", false, "run headless: one prompt in, stream-json out")
	f.StringVar(&o.promptFile, "prompt-file", "", "read the prompt from this file instead of standard input")
	f.StringVar(&o.model, "model", "", "Claude's model")
	f.IntVar(&o.maxTurns, "max-turns", 0, "end after this many turns")
	f.Float64Var(&o.maxBudgetUSD, "max-budget-usd", 0, "end after this many US dollars at list price")
	f.StringVar(&o.systemPrompt, "append-system-prompt", "", "text to add to Claude's system prompt")
	f.StringVar(&o.network, "network", "", "none or allowlist (default allowlist)")
	f.StringSliceVar(&o.allow, "allow", nil, "allow a destination: HOST, *.DOMAIN, HOST:PORT, NETWORK:PORT, or @FILE with one a line")
	f.StringSliceVar(&o.whitelist, "whitelist", nil, "the same as --allow")
	f.StringVar(&o.whitelistFile, "whitelist-file", "", "the same as --allow @FILE")
	f.StringSliceVar(&o.presets, "preset", nil, "allow a named list beside anthropic and github, such as npm or pypi")
	f.StringSliceVar(&o.deny, "deny", nil, "deny a destination; wins over everything that allows it")
	f.StringSliceVar(&o.private, "private", nil, "a name that may resolve to a private address")
	f.StringSliceVar(&o.envPrefixes, "env-prefix", nil, "pass on variables whose names begin so")
	f.StringVar(&o.image, "image", "", "the agent's image (default "+release.Image()+")")
	f.StringVar(&o.firewallImage, "firewall-image", "", "the firewall's image (default: the agent's); you trust it")
	f.StringVar(&o.engineNetwork, "engine-network", "", "join this network of the engine, to reach services on it (as --allow and --private name them)")
	f.StringVar(&o.memory, "memory", "", "limit of memory, such as 4g")
	f.Float64Var(&o.cpus, "cpus", 0, "limit of processors, such as 1.5")
	f.Int64Var(&o.pids, "pids", 0, "limit of processes and threads (default 1024)")
	f.DurationVar(&o.timeout, "timeout", 0, "end after this time, such as 30m")
	f.StringVar(&o.summaryFile, "summary-file", "", "write what happened as JSON to this file")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the plan as JSON and touch nothing")
	f.BoolVar(&o.trustProject, "trust-project", false, "accept the project's sandbox.jsonc as it is: you have read it")
	return cmd
}

// flagsFromEnv gives every flag that takes a value and was not given the value
// of its variable: SBX_DEVC_MAX_TURNS for --max-turns.
func flagsFromEnv(flags *pflag.FlagSet, getenv func(string) string) error {
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		name := "SBX_DEVC_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value := getenv(name)
		if value == "" || f.Changed || f.Value.Type() == "bool" || failed != nil {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			failed = diag.WithHint(fmt.Errorf("%s: %w", name, err), "unset %s, or give it a value that --%s takes", name, f.Name)
		}
	})
	return failed
}

// run does one run from flags to exit code.
func (a *app) run(ctx context.Context, dir string, claudeArgs []string, o runOptions) error {
	if !o.print && !o.dryRun {
		return exitWith(exitUsage, diag.WithHint(errors.New("this version runs headless only"), "add --print and give the prompt on standard input: echo 'fix the tests' | sbx-devc run --print"))
	}
	if err := agent.CheckExtraArgs(claudeArgs); err != nil {
		return exitWith(exitUsage, err)
	}
	user, err := o.settings()
	if err != nil {
		return err
	}
	project, err := a.projectSettings(dir)
	if err != nil {
		return err
	}
	var protect []string
	if project != nil {
		protect = project.Workspace.Protect
	}
	workspace, err := sandbox.Inspect(dir, protect)
	if err != nil {
		return runError(err)
	}
	options := sandbox.Options{
		ID: newRunID(), User: user, Project: project, TrustProject: o.trustProject,
		Image: release.Image(), FirewallImage: o.firewallImage, EngineNetwork: o.engineNetwork, Environ: os.Environ(),
		Headless: agent.Headless{
			Model: o.model, MaxTurns: o.maxTurns, MaxBudgetUSD: o.maxBudgetUSD, ExtraArgs: claudeArgs,
			AppendSystemPrompt: strings.TrimSpace(agent.NetworkNotice + "\n" + o.systemPrompt),
		},
	}
	plan, err := sandbox.NewPlan(options, sandbox.Facts{Workspace: workspace})
	if err != nil {
		return runError(err)
	}
	if o.dryRun {
		_, err := fmt.Fprintln(a.stdout, plan)
		return err
	}
	host, err := a.runHost(o, plan.ID)
	if err != nil {
		return err
	}
	// Signals go to the agent, so they must not cancel what supervises it.
	ctx = context.WithoutCancel(ctx)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	host.Signals = signals

	e, err := engine.Connect(ctx)
	if err != nil {
		return runError(err)
	}
	defer e.Close()
	if err := a.ensureImages(ctx, e, plan); err != nil {
		return runError(err)
	}
	result, err := sandbox.Run(ctx, e, plan, *host)
	a.report(result)
	if o.summaryFile != "" {
		if saveErr := writeSummaryFile(o.summaryFile, result, err); saveErr != nil {
			err = errors.Join(err, saveErr)
		}
	}
	if err != nil {
		return runError(err)
	}
	if result.ExitCode == 0 && !result.Outcome.OK() {
		// Claude ends with 0 after some failures; a script must not take that for success.
		return exitWith(1, fmt.Errorf("claude: %s", result.Outcome.Message))
	}
	return exitWith(result.ExitCode, nil)
}

// settings turns the flags into the user's settings.
func (o runOptions) settings() (settings.Settings, error) {
	s := settings.Settings{Image: o.image, EnvPrefixes: o.envPrefixes}
	mode := o.network
	if mode == "whitelist" { // the word of older tools
		mode = string(firewall.ModeAllowlist)
	}
	allow := append(append([]string{}, o.allow...), o.whitelist...)
	if o.whitelistFile != "" {
		allow = append(allow, "@"+o.whitelistFile)
	}
	// The flags are read as the file is, so that both accept the same.
	document := map[string]any{}
	network := map[string]any{"allow": list(allow), "presets": list(o.presets), "deny": list(o.deny), "private": list(o.private)}
	if mode != "" {
		network["mode"] = mode
	}
	limits := map[string]any{}
	for name, value := range map[string]string{"memory": o.memory} {
		if value != "" {
			limits[name] = value
		}
	}
	if o.timeout > 0 {
		limits["timeout"] = o.timeout.String()
	}
	if o.cpus != 0 {
		limits["cpus"] = o.cpus
	}
	if o.pids != 0 {
		limits["pids"] = o.pids
	}
	document["network"], document["limits"] = network, limits
	text, err := json.Marshal(document)
	if err != nil {
		return s, exitWith(exitInternal, err)
	}
	read := func(name string) ([]byte, error) { return os.ReadFile(name) }
	parsed, findings := settings.Parse("flags", text, read)
	if parsed == nil {
		f := findings[0]
		return s, exitWith(exitUsage, diag.WithHint(fmt.Errorf("flags: %s", f.Message), "%s", cmp.Or(f.Hint, "see 'sbx-devc run --help'")))
	}
	s.Network, s.Limits = parsed.Network, parsed.Limits
	return s, nil
}

func list(entries []string) []string {
	if entries == nil {
		return []string{}
	}
	return entries
}

// projectSettings reads the project's own file; nil when there is none. A
// symbolic link is refused: the file belongs to the code that is sandboxed.
func (a *app) projectSettings(dir string) (*settings.Settings, error) {
	folder := filepath.Join(dir, ".devcontainer")
	file := filepath.Join(folder, "sandbox.jsonc")
	for _, part := range []string{folder, file} {
		info, err := os.Lstat(part)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, exitWith(exitNoInput, fmt.Errorf("reading the project's settings: %w", err))
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return nil, exitWith(exitRefused, diag.WithHint(fmt.Errorf("%s is a symbolic link", part), "replace it with a plain file or folder"))
		}
	}
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, exitWith(exitNoInput, fmt.Errorf("reading the project's settings: %w", err))
	}
	s, findings := settings.Parse(file, source, settings.DirReader(folder))
	if s == nil {
		_ = diag.WriteText(a.stderr, findings)
		return nil, exitWith(exitConfig, diag.WithHint(fmt.Errorf("%s cannot be used", file), "mend it; 'sbx-devc validate' checks it"))
	}
	return s, nil
}

// runHost gathers what a run needs on this side: prompt, key, streams, folder.
// Everything that can be missing is found missing here, before a container starts.
func (a *app) runHost(o runOptions, id string) (*sandbox.Host, error) {
	prompt, err := a.readPrompt(o.promptFile)
	if err != nil {
		return nil, exitWith(exitNoInput, err)
	}
	upstream, credential, err := modelAPI(a.getenv)
	if err != nil {
		return nil, err
	}
	state := filepath.Join(stateHome(a.getenv), "runs", id)
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, exitWith(exitInternal, fmt.Errorf("making the run's folder: %w", err))
	}
	return &sandbox.Host{
		Prompt: strings.NewReader(prompt), Stdout: a.stdout, Stderr: a.stderr,
		Say:      func(line string) { fmt.Fprintf(a.stderr, "sbx-devc: %s\n", line) },
		Upstream: upstream, Credential: credential, UpstreamProxy: http.ProxyFromEnvironment, StateDir: state,
	}, nil
}

func (a *app) readPrompt(file string) (string, error) {
	var text []byte
	var err error
	if file != "" {
		text, err = os.ReadFile(file)
	} else if f, ok := a.stdin.(*os.File); ok && isTerminal(f) {
		return "", diag.WithHint(errors.New("there is no prompt"), "give it on standard input or with --prompt-file: echo 'fix the tests' | sbx-devc run --print")
	} else {
		text, err = io.ReadAll(a.stdin)
	}
	if err != nil {
		return "", fmt.Errorf("reading the prompt: %w", err)
	}
	if strings.TrimSpace(string(text)) == "" {
		return "", diag.WithHint(errors.New("the prompt is empty"), "give it on standard input or with --prompt-file: echo 'fix the tests' | sbx-devc run --print")
	}
	return string(text), nil
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&fs.ModeCharDevice != 0 && info.Mode()&fs.ModeDevice != 0 && f.Name() != os.DevNull
}

// modelAPI reads the API's base URL and the key from the environment.
func modelAPI(getenv func(string) string) (*url.URL, credproxy.Credential, error) {
	var none credproxy.Credential
	upstream, err := url.Parse(cmp.Or(getenv("SBX_DEVC_UPSTREAM"), credproxy.DefaultUpstream))
	if err != nil {
		return nil, none, exitWith(exitConfig, diag.WithHint(errors.New("SBX_DEVC_UPSTREAM is no URL"), "give the API's base URL, such as %s", credproxy.DefaultUpstream))
	}
	for _, source := range []struct {
		name string
		read func(string) (credproxy.Credential, error)
	}{{"ANTHROPIC_API_KEY", credproxy.ParseCredential}, {"CLAUDE_CODE_OAUTH_TOKEN", credproxy.OAuthToken}} {
		if secret := getenv(source.name); secret != "" {
			credential, err := source.read(secret)
			if err != nil {
				return nil, none, exitWith(exitNoSecret, diag.WithHint(fmt.Errorf("%s: %w", source.name, err), "set it to the key alone, without quotes"))
			}
			return upstream, credential, nil
		}
	}
	return nil, none, exitWith(exitNoSecret, diag.WithHint(errors.New("there is no key for the model API"),
		"set ANTHROPIC_API_KEY, or CLAUDE_CODE_OAUTH_TOKEN from 'claude setup-token'; it stays on this machine and never enters the sandbox"))
}

// ensureImages pulls the images that the engine does not have.
func (a *app) ensureImages(ctx context.Context, e *engine.Engine, plan *sandbox.Plan) error {
	for _, image := range []string{plan.Sidecar.Image, plan.Agent.Image} {
		_, err := e.ImageInspect(ctx, image)
		if !errors.Is(err, engine.ErrNotFound) {
			if err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(a.stderr, "sbx-devc: pulling %s\n", image)
		if _, err := imagebuild.Pull(ctx, e, image); err != nil {
			hint := "name an image that the engine has with --image; 'sbx-devc image build' makes one from the project's .devcontainer"
			return diag.WithHint(fmt.Errorf("%w: the engine does not have %s: %w", sandbox.ErrNoStart, image, err), "%s", hint)
		}
	}
	return nil
}

// report tells people what happened.
func (a *app) report(r *sandbox.Result) {
	if r.Egress != nil {
		fmt.Fprintln(a.stderr)
		_ = r.Egress.WriteText(a.stderr)
	}
	t := r.Timings
	if t.Startup > 0 {
		fmt.Fprintf(a.stderr, "sbx-devc: started in %s (firewall %s), ran %s; %s\n",
			t.Startup.Round(time.Millisecond), t.Firewall.Round(time.Millisecond), t.Agent.Round(time.Millisecond), cmp.Or(filepath.Dir(r.Files.Summary), "nothing was kept"))
	}
}

func writeSummaryFile(name string, r *sandbox.Result, failure error) error {
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	return errors.Join(sandbox.WriteSummary(f, r, failure), f.Close())
}

// runError gives the failure of a run its exit code.
func runError(err error) error {
	for _, c := range []struct {
		kind error
		code int
	}{
		{sandbox.ErrRefused, exitRefused}, {sandbox.ErrConfig, exitConfig}, {sandbox.ErrInput, exitNoInput},
		{sandbox.ErrNoKey, exitNoSecret}, {sandbox.ErrKey, exitNoSecret}, {sandbox.ErrTimeout, exitTimeout},
		{engine.ErrUnavailable, exitUnavailable}, {sandbox.ErrNoStart, exitNoStart},
	} {
		if errors.Is(err, c.kind) {
			return exitWith(c.code, err)
		}
	}
	return exitWith(exitInternal, err)
}

// newRunID names a run so that names sort by time and never meet.
func newRunID() string {
	var random [3]byte
	_, _ = rand.Read(random[:]) // never fails
	return time.Now().UTC().Format("20060102-150405") + "-" + hex.EncodeToString(random[:])
}

// stateHome is where runs are kept.
func stateHome(getenv func(string) string) string {
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "sbx-devc")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), "sbx-devc-"+strconv.Itoa(os.Getuid()))
	}
	return filepath.Join(home, ".local", "state", "sbx-devc")
}
