package sandbox

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/internal/tunnel"
	"github.com/org/claude-sandbox/sandbox/kept"
	"github.com/org/claude-sandbox/settings"
)

// credentialVariables never enter a container, whatever prefix they match.
var credentialVariables = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"}

// DefaultClaudePath is where the images of our template hold Claude Code.
const DefaultClaudePath = "/usr/local/bin/claude"

// checkClaudePath checks where Claude Code is said to be: nowhere that the agent or
// the project can write. "" says nothing.
func checkClaudePath(name string) error {
	if name == "" {
		return nil
	}
	no := func(why string) error {
		return diag.WithHint(fmt.Errorf("%w: the path of claude, %s, %s", ErrConfig, name, why), "give the path in the image, "+
			"such as %s", DefaultClaudePath)
	}
	if !path.IsAbs(name) || path.Clean(name) != name {
		return no("is not absolute or not in its shortest form")
	}
	for _, dir := range []string{workspaceTarget, agentHome, "/tmp", "/var/tmp", "/run", "/var/run", "/dev", "/proc"} {
		if name == dir || strings.HasPrefix(name, dir+"/") {
			return no("is below " + dir + ", which is not the image's")
		}
	}
	return nil
}

// environment gives the agent its variables: ours, the settings' and those
// that the user passes on by prefix. Ours cannot be replaced: they keep the
// agent on the proxy and quiet.
func (p *Plan) environment(o Options, s settings.Settings) error {
	env := append(agent.Env(agent.EnvOptions{BaseURL: "http://" + tunnel.ListenAddress, Memory: len(o.Headless.MemoryOf) > 0}),
		"HOME="+agentHome, "USER=agent")
	if o.Terminal {
		env = append(env, terminalVariables(o.Environ)...)
	}
	if o.KeepClaude {
		env = append(env, "HISTFILE="+path.Join(agentHome, ".claude", kept.ShellHistory))
	}
	env = append(env, gitVariables()...)
	taken := map[string]bool{}
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		taken[name] = true
	}
	for _, name := range credentialVariables {
		taken[name] = true
	}
	names := make([]string, 0, len(s.Env))
	for name := range s.Env {
		if taken[name] {
			return diag.WithHint(fmt.Errorf("%w: env: %s is set by the sandbox itself", ErrConfig, name), "remove it from env; keys stay on "+
				"the host, see docs/threat-model.md")
		}
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		env, taken[name] = append(env, name+"="+s.Env[name]), true
	}
	for _, v := range o.Environ {
		name, _, _ := strings.Cut(v, "=")
		matches := slices.ContainsFunc(s.EnvPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		if matches && !taken[name] {
			env, taken[name] = append(env, v), true
			p.passed = append(p.passed, name)
		}
	}
	p.Agent.Env = withCaches(env, taken)
	return nil
}

// terminalValue matches values of the terminal's variables: they come from the
// person's side and name a kind, not a file.
var terminalValue = regexp.MustCompile(`^[A-Za-z0-9_.@-]{1,64}$`)

// terminalVariables are those of the caller's environ by which programs know what a
// terminal can do, and in which language its person reads. A TERM that an image may
// not know is one that all know and that does the same. Claude's folder holds its state
// as well, so that the run can give it.
func terminalVariables(environ []string) []string {
	kind, out := "xterm-256color", []string{"CLAUDE_CONFIG_DIR=" + agentHome + "/.claude"}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		if !terminalValue.MatchString(value) {
			continue
		}
		switch name {
		case "TERM":
			if slices.Contains(knownTerminals, value) {
				kind = value
			}
		case "COLORTERM", "LANG", "NO_COLOR":
			out = append(out, v)
		}
	}
	return append(out, "TERM="+kind)
}

// knownTerminals are in the smallest terminfo of Debian and of Alpine.
var knownTerminals = []string{"xterm", "xterm-256color", "screen", "screen-256color", "tmux", "tmux-256color", "linux", "vt100", "dumb"}

// gitVariables let git work where the engine shows files as another user's, which it
// would refuse, with more settings of the form NAME=VALUE.
func gitVariables(more ...string) []string {
	settings := append([]string{"safe.directory=*"}, more...)
	env := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings))}
	for i, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, name), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, value))
	}
	return env
}

// plainValue matches a word or a number, which is a setting and no secret: it
// may stand anywhere in a transcript.
var plainValue = regexp.MustCompile(`^([a-z_]+|[0-9.]+)$`)

// redactor knows the secrets of the run that the agent may print: the values of
// the variables that were passed on from the caller's environment and of those
// whose names say secret, and whatever looks like a well-known token.
func (p *Plan) redactor() *redact.Redactor {
	secrets := redact.SecretsOf(p.Agent.Env)
	for _, v := range p.Agent.Env {
		name, value, _ := strings.Cut(v, "=")
		if slices.Contains(p.passed, name) && !plainValue.MatchString(value) {
			secrets = append(secrets, value)
		}
	}
	return redact.New(redact.Options{Secrets: secrets, Patterns: true})
}

// Redacted returns the plan for printing: what was passed on from the caller's
// environment shows its name only.
func (p *Plan) Redacted() *Plan {
	out := *p
	out.Agent.Env = slices.Clone(p.Agent.Env)
	for i, v := range out.Agent.Env {
		if name, _, _ := strings.Cut(v, "="); slices.Contains(p.passed, name) {
			out.Agent.Env[i] = name + "=[redacted]"
		}
	}
	return &out
}
