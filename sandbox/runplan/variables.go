package runplan

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/cabundle"
	"github.com/org/claude-sandbox/internal/delivery"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/internal/tunnel"
	"github.com/org/claude-sandbox/sandbox/kept"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/workspace"
)

// Secret is a value for the agent alone: no file, message or record shows it.
type Secret struct {
	Name string `json:"name"`
	From string `json:"from"`           // its reference
	File string `json:"file,omitempty"` // where the agent finds it, its variable NAME_FILE; "" = the variable Name
}

// Variable is the name of the agent's variable that has the secret or its file.
func (s Secret) Variable() string {
	if s.File != "" {
		return s.Name + "_FILE"
	}
	return s.Name
}

// credentialVariables never enter a container, whoever asks for them.
var credentialVariables = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"}

// defaultPrefixes choose the variables that a run passes on unless the user names others.
func defaultPrefixes() []string { return []string{"CLAUDE_"} }

// prefixes are those of a run. A job's environment is set up by many, so that the Action
// passes on what it is told alone.
func (o Options) prefixes(chosen []string) []string {
	if chosen == nil && !o.InputsNotFlags {
		return defaultPrefixes()
	}
	return chosen
}

// wantedSecrets leaves out those that the run does without.
func (o Options) wantedSecrets(list []settings.Secret) []settings.Secret {
	return slices.DeleteFunc(slices.Clone(list), func(s settings.Secret) bool { return slices.Contains(o.NoSecrets, s.Name) })
}

// trustedSecrets are the secrets of a run whose project's file is trusted. The file says
// which ones the project needs; a source that runs a program or reads a file of this
// machine's is the user's word alone.
func trustedSecrets(project, users []settings.Secret) ([]settings.Secret, error) {
	all := settings.MergeSecrets(project, users)
	for _, s := range project {
		if slices.ContainsFunc(users, func(u settings.Secret) bool { return u.Name == s.Name && u.From != "" }) {
			continue
		}
		if r, err := s.Reference(); err == nil && r.Kind != settings.ReferenceEnv {
			err := fmt.Errorf("%w: the project's sandbox.jsonc takes the secret %s from %s: a project may name a secret, and only "+
				"you say where it comes from", workspace.ErrRefused, s.Name, r.Kind)
			return nil, diag.WithHint(err, "give --secret '%s=%s', or put that into \"secrets\" of your own settings.jsonc; "+
				"--no-secret %s runs without it", s.Name, s.From, s.Name)
		}
	}
	return all, nil
}

// environment gives the agent its variables: ours, the settings', what the user gives or
// passes on by prefix, and secrets. Ours cannot be replaced: they keep the agent on the
// proxy and quiet. The user's variables are in no container's configuration: see Parcel.
func (p *Plan) environment(o Options, s settings.Settings) (err error) {
	env := fixedVariables(o, p.gitRewrites()...)
	ours := reservedAmong(env)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if err := ours.check("env", name); err != nil {
			return err
		}
		env = append(env, name+"="+s.Env[name])
	}
	p.Agent.Env = withCaches(env, s.Env)
	if p.opensTLS() {
		p.Agent.Env = withVariables(p.Agent.Env, cabundle.Variables(), s.Env)
		uid, gid := p.AgentUser()
		p.Agent.Tmpfs[cabundle.Folder] = fmt.Sprintf("rw,nosuid,nodev,noexec,mode=0755,size=8m,uid=%d,gid=%d", uid, gid)
	}
	var passed []string
	for _, v := range o.Environ {
		name := nameOf(v)
		matches := slices.ContainsFunc(s.EnvPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		if _, set := s.Env[name]; matches && !set && !ours[name] && !steersClaude(name) {
			passed = append(passed, v)
		}
	}
	given := "--env"
	if o.InputsNotFlags {
		given = "input env"
	}
	for _, v := range o.Variables {
		if err := ours.check(given, nameOf(v)); err != nil {
			return err
		}
	}
	if p.Secrets, err = ours.secrets(s.Secrets); err != nil {
		return err
	}
	p.variables = delivery.Merge(passed, o.Variables)
	for _, v := range p.variables {
		p.Passed = append(p.Passed, nameOf(v))
	}
	if len(p.variables)+len(p.Secrets)+len(p.servers) > 0 {
		at := slices.Index(p.Agent.Entrypoint, "--")
		p.Agent.Entrypoint = slices.Insert(p.Agent.Entrypoint, at, "--delivery")
		uid, gid := p.AgentUser()
		p.Agent.Tmpfs[delivery.Folder] = fmt.Sprintf("rw,nosuid,nodev,noexec,mode=0700,size=8m,uid=%d,gid=%d", uid, gid)
	}
	return nil
}

// opensTLS reports whether the firewall opens the TLS of some host.
func (p *Plan) opensTLS() bool { return p.Policy.Resolves() && len(p.Policy.Operations().Hosts()) > 0 }

// nameOf is the name of a variable NAME=value.
func nameOf(variable string) string {
	name, _, _ := strings.Cut(variable, "=")
	return name
}

// gitRewrites are settings of git by which remotes over ssh go over HTTPS, where entries
// say what git may do there. ssh is closed, and names no repository to the firewall.
func (p *Plan) gitRewrites() (rewrites []string) {
	if !p.opensTLS() {
		return nil
	}
	for _, h := range p.Policy.Operations().GitHosts() {
		for _, from := range []string{"git@" + h.Name + ":", "ssh://git@" + h.Name + "/"} {
			rewrites = append(rewrites, "url.https://"+h.Name+"/.insteadOf="+from)
		}
	}
	return rewrites
}

// ProvidersTokenVariable is how programs find the session token for providers, which
// follows it. It has none in a plan.
const ProvidersTokenVariable = "OPENAI_API_KEY="

// fixedVariables are those that the sandbox sets itself, with git's settings.
func fixedVariables(o Options, git ...string) []string {
	env := append(agent.Env(agent.EnvOptions{BaseURL: "http://" + tunnel.ListenAddress, Memory: len(o.Headless.MemoryOf) > 0}),
		"HOME="+AgentHome, "USER=agent")
	if len(o.Providers) > 0 {
		env = append(env, "OPENAI_BASE_URL=http://"+tunnel.ListenAddress+"/providers/"+o.Providers[0].Name, ProvidersTokenVariable)
	}
	if o.Terminal {
		env = append(env, TerminalVariables(o.Environ)...)
	}
	if o.KeepClaude {
		env = append(env, "HISTFILE="+path.Join(AgentHome, ".claude", kept.ShellHistory))
	}
	return append(env, GitVariables(git...)...)
}

// reserved are the names of variables that only the sandbox sets.
type reserved map[string]bool

// reservedAmong are the names of a run with variables that the sandbox sets.
func reservedAmong(env []string) reserved {
	ours := reserved{}
	for _, v := range slices.Concat(credentialVariables, env) {
		ours[nameOf(v)] = true
	}
	return ours
}

// CheckVariable refuses the name of a variable that only the sandbox sets, in every run; what
// gives it is for the error.
func CheckVariable(what, name string) error {
	return reservedAmong(fixedVariables(Options{})).check(what, name)
}

// check refuses such a name; what gives it is for the error.
func (r reserved) check(what, name string) error {
	if !r[name] {
		return nil
	}
	return diag.WithHint(fmt.Errorf("%w: %s: %s is set by the sandbox itself", ErrConfig, what, name), "remove it from %s; the model's "+
		"key stays on the host, see docs/threat-model.md", what)
}

// secrets are those of a plan, by what the settings say.
func (r reserved) secrets(list []settings.Secret) (all []Secret, err error) {
	for _, secret := range list {
		if err := r.check("secrets", secret.Name); err != nil {
			return nil, err
		}
		source, err := secret.Reference()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrConfig, err)
		}
		if source.Kind == settings.ReferenceEnv && slices.Contains(credentialVariables, source.Of) {
			return nil, r.check("secrets", source.Of)
		}
		out := Secret{Name: secret.Name, From: source.String()}
		if secret.As == "file" {
			out.File = delivery.File(secret.Name)
		}
		all = append(all, out)
	}
	return all, nil
}

// steersClaude reports whether a variable of Claude Code's may change where it connects,
// as whom, and what it runs or obeys. No prefix passes one on; --env NAME does. A name
// that begins otherwise is the user's own.
func steersClaude(name string) bool {
	rest, claudes := strings.CutPrefix(name, "CLAUDE_")
	if !claudes {
		rest, claudes = strings.CutPrefix(name, "ANTHROPIC_")
	}
	if !claudes {
		return false
	}
	return slices.ContainsFunc(strings.Split(rest, "_"), func(word string) bool { return slices.Contains(steeringWords, word) })
}

// steeringWords are words in names of Claude Code's variables (2.1) that choose its
// endpoint and provider, its credentials, files and settings, programs that it starts,
// the editor or session that it belongs to, and what it asks before it acts.
var steeringWords = []string{
	"URL", "URI", "HOST", "PORT", "ENDPOINT", "PROXY", "REGION", "BEDROCK", "VERTEX", "FOUNDRY", "GATEWAY", "MANTLE", "PROVIDER",
	"UPSTREAM", "USE", "SKIP", "KEY", "TOKEN", "AUTH", "OAUTH", "SECRET", "CREDENTIAL", "CREDENTIALS", "CERT", "CERTS", "CA", "HEADERS",
	"CUSTOM", "CONFIG", "SETTINGS", "MANAGED", "DIR", "DIRS", "DIRECTORIES", "PATH", "FILE", "FILES", "ROOT", "HOME", "TMPDIR", "CWD",
	"HOOK", "HOOKS", "HELPER", "SHELL", "PREFIX", "COMMAND", "EXEC", "BASH", "POWERSHELL", "GIT", "NODE", "PLUGIN", "PLUGINS",
	"MARKETPLACE", "MCP", "ENTRYPOINT", "SSE", "IDE", "SESSION", "REMOTE", "CHILD", "PARENT", "TEAM", "WORKER", "ENVIRONMENT", "CONTAINER",
	"ACCOUNT", "ORGANIZATION", "PERMISSION", "PERMISSIONS", "SANDBOX", "SCRUB", "TELEMETRY", "OTEL", "NONESSENTIAL", "DEBUG", "LOGS",
	"DUMP", "ENV", "BETAS",
}

// Parcel is what the agent's first process is given for the agent alone. secrets are the
// values of p.Secrets by name.
func (p *Plan) Parcel(secrets map[string]string) (delivery.Parcel, error) {
	parcel := delivery.Parcel{Env: slices.Clone(p.variables), Files: map[string][]byte{}}
	for _, s := range p.Secrets {
		value, ok := secrets[s.Name]
		if !ok {
			return parcel, fmt.Errorf("%w: the secret %s has no value", ErrNoKey, s.Name)
		}
		if s.File != "" {
			parcel.Files[s.Name] = []byte(value)
			value = s.File
		}
		parcel.Env = append(parcel.Env, s.Variable()+"="+value)
	}
	if p.servers != nil {
		parcel.Files[mcpFile] = p.servers
	}
	return parcel, nil
}

// plainValue matches a word or a number, which is a setting and no secret: it
// may stand anywhere in a transcript.
var plainValue = regexp.MustCompile(`^([a-z_]+|[0-9.]+)$`)

// Redactor knows the secrets of the run that the agent may print: the given values, those
// of variables that were passed on and of those whose names say secret, and whatever
// looks like a well-known token.
func (p *Plan) Redactor(values map[string]string) *redact.Redactor {
	secrets := append(redact.SecretsOf(p.Agent.Env), p.hidden...)
	for _, v := range p.variables {
		if _, value, _ := strings.Cut(v, "="); !plainValue.MatchString(value) {
			secrets = append(secrets, value)
		}
	}
	for _, value := range values {
		secrets = append(secrets, value)
	}
	return redact.New(redact.Options{Secrets: secrets, Patterns: true})
}

// Finder knows the secrets of the run that are looked for in the agent's files, with
// their names: the given values, and those of variables whose names say secret.
func (p *Plan) Finder(values map[string]string) *redact.Finder {
	var all []redact.Named
	for name, value := range values {
		all = append(all, redact.Named{Name: name, Value: value})
	}
	for _, v := range p.variables {
		if name, value, _ := strings.Cut(v, "="); len(redact.SecretsOf([]string{v})) > 0 && !plainValue.MatchString(value) {
			all = append(all, redact.Named{Name: name, Value: value})
		}
	}
	for _, value := range p.hidden {
		all = append(all, redact.Named{Name: "of an MCP server", Value: value})
	}
	return redact.NewFinder(all)
}
