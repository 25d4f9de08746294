package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/settings"
)

// settings turns the flags into the user's settings. Lists among the project's own
// files are protected: they are the user's word, so the agent must not change them.
func (o runOptions) settings(project string) (settings.Settings, error) {
	given := settings.Given{Settings: settings.Settings{Image: o.image, Limits: settings.Limits{PIDs: o.pids, Timeout: o.timeout}}}
	given.Read = func(name string) ([]byte, error) {
		name = homePath(name)
		if rel, ok := inProject(name, project); ok {
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

// planRun plans a run on the folder dir with the default image, by o and by the
// project's own settings, which may narrow it and protect more.
func (a *app) planRun(dir string, o sandbox.Options) (*sandbox.Plan, error) {
	project, err := a.projectSettings(dir)
	if err != nil {
		return nil, err
	}
	protect := slices.Clone(o.User.Workspace.Protect)
	if project != nil {
		protect = append(protect, project.Workspace.Protect...)
	}
	workspace, err := sandbox.Inspect(dir, protect)
	if err != nil {
		return nil, err
	}
	addrs, err := sandbox.HostAddresses()
	if err != nil {
		return nil, err
	}
	o.Project, o.Image = project, release.Image()
	return sandbox.NewPlan(o, sandbox.Facts{Workspace: workspace, HostAddresses: addrs})
}

// projectSettings reads the project's own file; nil when there is none. A
// symbolic link is refused: the file belongs to the code that is sandboxed.
func (a *app) projectSettings(dir string) (*settings.Settings, error) {
	file := filepath.Join(dir, defaultSettings)
	folder := filepath.Dir(file)
	for _, part := range []string{folder, file} {
		info, err := os.Lstat(part)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // Inspect says what dir is
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
	return &s.Settings, nil
}

// runHost gathers what a run needs on this side: prompt, key, streams, folder.
// Everything that can be missing is found missing here, before a container starts.
func (a *app) runHost(o runOptions, plan *sandbox.Plan) (*sandbox.Host, error) {
	prompt := o.prompt
	if prompt == "" {
		var err error
		if prompt, err = a.readPrompt(o.promptFile, plan.Folder()); err != nil {
			return nil, exitWith(exitNoInput, err)
		}
	}
	upstream, credential, err := modelAPI(a.getenv)
	if err != nil {
		return nil, err
	}
	state := filepath.Join(a.runsHome(), plan.ID)
	say := func(line string) { fmt.Fprintf(a.stderr, "sbx-devc: %s\n", line) }
	return &sandbox.Host{
		Prompt: strings.NewReader(prompt), Stdout: shown(a.stdout), Stderr: a.stderr, Say: say,
		OnEvent: func(e agent.Event) { // who waits wants to know for what
			if retry, ok := e.(agent.APIRetry); ok {
				say(visible.Line(retry.String()))
			}
		},
		Upstream: upstream, Credential: credential, UpstreamProxy: http.ProxyFromEnvironment, StateDir: state, LiveDir: a.liveHome(),
	}, nil
}

// maxPrompt bounds the prompt, in bytes, as the Action does.
const maxPrompt = 4 << 20

func (a *app) readPrompt(file, project string) (string, error) {
	var text []byte
	var err error
	if file != "" {
		text, err = readPromptFile(file, project)
	} else if isTerminal(a.stdin) {
		return "", diag.WithHint(errors.New("there is no prompt"), "give it on standard input or with --prompt-file: echo 'fix the tests' | sbx-devc run --print")
	} else {
		text, err = io.ReadAll(io.LimitReader(a.stdin, maxPrompt+1))
	}
	if err == nil && len(text) > maxPrompt {
		return "", diag.WithHint(fmt.Errorf("the prompt is larger than %d MiB, and a model's context holds no more", maxPrompt>>20), "put the text into a file of the project, and name that in the prompt")
	}
	if err != nil {
		return "", fmt.Errorf("reading the prompt: %w", err)
	}
	if strings.TrimSpace(string(text)) == "" {
		return "", diag.WithHint(errors.New("the prompt is empty"), "give it on standard input or with --prompt-file: echo 'fix the tests' | sbx-devc run --print")
	}
	return string(text), nil
}

// modelAPI reads the API's base URL and the key from the environment.
func modelAPI(getenv func(string) string) (*url.URL, credproxy.Credential, error) {
	var none credproxy.Credential
	upstream, err := url.Parse(cmp.Or(getenv("SBX_DEVC_UPSTREAM"), credproxy.DefaultUpstream))
	if err != nil || upstream.Host == "" {
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
			// The proxy knows which addresses may see a key; ask it before
			// anything starts.
			proxy, err := credproxy.New(credproxy.Options{Upstream: upstream, Credential: credential, SessionToken: credproxy.NewSessionToken()})
			if err != nil {
				return nil, none, exitWith(exitConfig, err)
			}
			return upstream, credential, proxy.Close()
		}
	}
	return nil, none, exitWith(exitNoSecret, diag.WithHint(errors.New("there is no key for the model API"),
		"set ANTHROPIC_API_KEY, or CLAUDE_CODE_OAUTH_TOKEN from 'claude setup-token'; it stays on this machine and never enters the sandbox"))
}
