package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/instructions"
	"github.com/org/claude-sandbox/session/runs"
	"github.com/org/claude-sandbox/settings"
)

// settingsFlags are those flags that stand for settings.
func (o *runOptions) settingsFlags(f *pflag.FlagSet) {
	f.StringVar(&o.network, "network", "",
		"none, allowlist (what --allow and --preset name), audit (the internet, recorded) or host (no firewall) (default allowlist)")
	f.StringSliceVar(&o.allow, "allow", nil, "open a destination: HOST, *.DOMAIN, HOST:PORT, NETWORK:PORT, or @FILE with one a line")
	f.StringSliceVar(&o.whitelist, "whitelist", nil, "the same as --allow")
	f.StringVar(&o.whitelistFile, "whitelist-file", "", "the same as --allow @FILE")
	f.StringSliceVar(&o.presets, "preset", nil, "open a named list of hosts, such as npm or pypi; github leaves gist.github.com closed")
	f.StringSliceVar(&o.deny, "deny", nil, "deny a destination; wins over everything that allows it")
	f.StringSliceVar(&o.private, "private", nil, "a name that may resolve to a private address")
	f.StringSliceVar(&o.envPrefixes, "env-prefix", nil, "pass environment variables with this prefix")
	f.StringVar(&o.image, "image", "",
		"the agent's image, which needs none of our programs (default: of the dev container if you accepted it, else of the project's template)")
	f.StringVar(&o.memory, "memory", "", "limit of memory, such as 4g (default 8g, at most half of the engine's)")
	f.Float64Var(&o.cpus, "cpus", 0, "limit of processors, such as 1.5")
	f.Int64Var(&o.pids, "pids", 0, "limit of processes and threads (default 1024)")
	f.DurationVar(&o.timeout, "timeout", 0, "end after this time, such as 30m")
}

// settings turns the flags into the user's settings. Lists among the project's own
// files are protected: they are the user's word, so the agent must not change them.
func (o runOptions) settings(project string) (settings.Settings, error) {
	given := settings.Given{Settings: settings.Settings{Image: o.image, Limits: settings.Limits{PIDs: o.pids, Timeout: o.timeout}}}
	given.Read = func(name string) ([]byte, error) {
		name = homePath(name)
		if rel, ok := session.InProject(name, project); ok {
			given.Workspace.Protect = append(given.Workspace.Protect, filepath.ToSlash(rel))
		}
		return os.ReadFile(name)
	}
	mode := o.network
	if mode == "whitelist" { // the word of older tools
		mode = string(firewall.ModeAllowlist)
	}
	given.Mode("--network", mode)
	given.Entries("presets", "--preset", o.presets)
	given.Entries("allow", "--allow", o.allow)
	given.Entries("allow", "--whitelist", o.whitelist)
	if o.whitelistFile != "" {
		given.Entries("allow", "--whitelist-file", []string{"@" + o.whitelistFile})
	}
	given.Entries("deny", "--deny", o.deny)
	given.Entries("private", "--private", o.private)
	given.EnvPrefixes("--env-prefix", o.envPrefixes)
	given.Memory("--memory", o.memory)
	given.CPUs("--cpus", o.cpus)
	s, bad := given.Accept()
	if bad != nil {
		return settings.Settings{}, exitWith(exitUsage, diag.OrHint(bad[0], "see 'sbx-devc run --help'"))
	}
	return s.Settings, nil
}

// homePath puts the user's home in the place of "~/": shells do so only at the
// beginning of a word, and not in @~/hosts.txt.
func homePath(name string) string {
	rest, ok := strings.CutPrefix(name, "~/")
	if !ok {
		return name
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return name
	}
	return filepath.Join(home, rest)
}

// runHost gathers what a run needs on this side: prompt, key, streams, folder.
// Everything that can be missing is found missing here, before a container starts.
func (a *app) runHost(o runOptions, plan *sandbox.Plan) (*sandbox.Host, error) {
	prompt, err := a.readPrompt(o, plan.Folder())
	if err != nil {
		return nil, exitWith(exitNoInput, err)
	}
	upstream, credential, err := session.ModelAPI(a.getenv)
	if err != nil {
		return nil, err
	}
	say := func(line string) { fmt.Fprintf(a.stderr, "sbx-devc: %s\n", line) }
	return &sandbox.Host{
		Prompt: strings.NewReader(prompt), Title: firstWords(prompt), Stderr: a.stderr, Say: say,
		Upstream: upstream, Credential: credential, UpstreamProxy: http.ProxyFromEnvironment, LiveDir: a.runs().Live(),
	}, nil
}

// stdinPatience bounds the wait for text on standard input that may never come
// there, as in a job of a service: the argument is a prompt already.
const stdinPatience = 3 * time.Second

// readPrompt reads the prompt from where it is. What a pipe or file brings is added
// to an argument, as claude does.
func (a *app) readPrompt(o runOptions, project string) (string, error) {
	if o.promptFile != "" {
		return promptOr(session.ReadPromptFile(o.promptFile, project))
	}
	switch {
	case o.prompt != "" && isTerminal(a.stdin):
		return o.prompt, nil
	case o.prompt != "":
		text, err := session.ReadMore(a.stdin, o.prompt, stdinPatience)
		if errors.Is(err, session.ErrNoInput) {
			fmt.Fprintf(a.stderr, "sbx-devc: note: nothing came on standard input within %s; the prompt is the argument alone\n", stdinPatience)
			err = nil
		}
		return text, err
	case isTerminal(a.stdin):
		return promptOr("", errors.New("there is no prompt"))
	}
	return promptOr(session.ReadPrompt(a.stdin))
}

// promptOr adds the ways to give a prompt to an error for want of one.
func promptOr(text string, err error) (string, error) {
	if err != nil {
		err = diag.OrHint(err, "give it as an argument, on standard input or with --prompt-file: sbx-devc run 'fix the tests'")
	}
	return text, err
}

// earlierConversation is the one that the flags ask to go on with.
func (a *app) earlierConversation(dir string, o runOptions) (runs.Earlier, error) {
	if !o.goOn && o.resume == "" {
		return runs.Earlier{}, nil
	}
	project, err := filepath.Abs(dir)
	if err != nil {
		return runs.Earlier{}, exitWith(exitInternal, err)
	}
	return a.runs().Conversation(real(project), o.resume)
}

// instructions gathers what Claude reads of the project's instructions and the
// user's. dir is the project's folder, and options say whether it is trusted.
func (a *app) instructions(dir string, o runOptions, options *sandbox.Options) ([]sandbox.HomeFile, error) {
	options.Instructions = sandbox.Instructions{Memory: true, Texts: options.TrustProject, Settings: o.projectHooks, MCP: o.projectMCP}
	folder := a.getenv("CLAUDE_CONFIG_DIR")
	if folder == "" {
		folder = filepath.Join(a.getenv("HOME"), ".claude")
	}
	texts, err := instructions.User(folder, o.userTexts)
	if err != nil {
		return nil, exitWith(exitNoInput, err)
	}
	if options.TrustProject && !o.projectHooks { // with its settings Claude reads them where they are
		of, err := instructions.Project(dir)
		if err != nil {
			return nil, exitWith(exitNoInput, err)
		}
		texts.Add(of)
	}
	options.Instructions.LeftOut = texts.LeftOut
	return texts.Files, nil
}

// maxTitle bounds the words by which a list of runs knows one again, in runes.
const maxTitle = 80

// firstWords is the beginning of a prompt, on one line.
func firstWords(prompt string) string {
	words := []rune(strings.Join(strings.Fields(prompt[:min(len(prompt), 4*maxTitle)]), " "))
	if len(words) > maxTitle {
		words = append(words[:maxTitle-1], '…')
	}
	return string(words)
}
