package migrate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/lazyregexp"
	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/settings"
)

// claudeSettings are those keys of Claude's settings that mean something here.
type claudeSettings struct {
	Model       string                     `json:"model"`
	Env         map[string]json.RawMessage `json:"env"`
	Permissions struct {
		Allow       []string `json:"allow"`
		Deny        []string `json:"deny"`
		Ask         []string `json:"ask"`
		Directories []string `json:"additionalDirectories"`
		Mode        string   `json:"defaultMode"`
	} `json:"permissions"`
	Sandbox struct {
		Network struct {
			Allowed []string `json:"allowedDomains"`
			Denied  []string `json:"deniedDomains"`
		} `json:"network"`
	} `json:"sandbox"`
}

var (
	fetchForm  = lazyregexp.New(`^WebFetch\(domain:([^()\s]+)\)$`)
	bashForm   = lazyregexp.New(`^Bash\(([a-z0-9]+)[ :)]`)
	serverForm = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)
)

// presetOf is the preset that opens what a program fetches.
var presetOf = map[string]string{
	"npm": "npm", "npx": "npm", "pnpm": "npm", "yarn": "npm", "pip": "pypi", "pip3": "pypi", "uv": "pypi", "uvx": "pypi", "poetry": "pypi",
	"cargo": "rust", "go": "go", "bundle": "rubygems", "gem": "rubygems", "mvn": "maven",
}

// reasons are why other keys are left.
var reasons = map[string]string{
	"hooks":                      "hooks run on this machine; in the sandbox those of a project do with --project-settings",
	"apiKeyHelper":               "it prints a key: 'sbx-devc login' keeps one for runs",
	"awsAuthRefresh":             "it fetches a key; keys stay outside of the sandbox",
	"awsCredentialExport":        "it fetches a key; keys stay outside of the sandbox",
	"otelHeadersHelper":          "it is a program of this machine",
	"statusLine":                 "it is a program of this machine",
	"enabledPlugins":             "plugins bring programs and hooks of their own: install what you need in an image",
	"enableAllProjectMcpServers": "--project-mcp starts a project's servers in the sandbox",
}

func (p *Plan) settings(file string, text []byte) {
	var s claudeSettings
	var all map[string]json.RawMessage
	if json.Unmarshal(text, &all) != nil || json.Unmarshal(text, &s) != nil {
		p.unread(file, errNoJSON)
		return
	}
	if modelForm.MatchString(s.Model) {
		p.Model = s.Model
		p.take(file, "model "+s.Model, "")
	} else if s.Model != "" {
		p.leave(file, "model", "it is no name of a model that is known here: --model, or \"model\" in your settings, says it")
	}
	for _, rule := range bounded(s.Permissions.Allow) {
		p.allowed(file, rule)
	}
	for _, rule := range bounded(s.Permissions.Deny) {
		if m := fetchForm.FindStringSubmatch(rule); m != nil {
			p.host(file, "permissions.deny WebFetch", m[1], &p.Take.Network.Deny)
			continue
		}
		p.leave(file, "permissions.deny "+inShort(rule),
			"the sandbox takes its place: protect paths with workspace.protect, close hosts with deny")
	}
	for _, host := range bounded(s.Sandbox.Network.Allowed) {
		p.host(file, "sandbox.network.allowedDomains", host, &p.Take.Network.Allow)
	}
	for _, host := range bounded(s.Sandbox.Network.Denied) {
		p.host(file, "sandbox.network.deniedDomains", host, &p.Take.Network.Deny)
	}
	if n := len(s.Permissions.Ask); n > 0 {
		p.leave(file, fmt.Sprintf("permissions.ask, %d rules", n), "nothing is asked in the sandbox; 'sbx-devc review' shows what was done")
	}
	if n := len(s.Permissions.Directories); n > 0 {
		p.leave(file, fmt.Sprintf("permissions.additionalDirectories, %d folders", n), "--mount shows a run a folder in addition")
	}
	if s.Permissions.Mode != "" {
		p.leave(file, "permissions.defaultMode", "in the sandbox Claude asks for nothing; without one --no-sandbox warns first")
	}
	p.variables(file, s.Env)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if why := reasons[key]; why != "" {
			p.leave(file, key, why)
		} else if !slices.Contains([]string{"model", "env", "permissions", "sandbox", "$schema"}, key) {
			p.leave(file, named("the key", key), "it is about Claude's own interface, and no setting of a sandbox")
		}
	}
}

// allowed takes what opens a host, or packages.
func (p *Plan) allowed(file, rule string) {
	if m := fetchForm.FindStringSubmatch(rule); m != nil {
		p.host(file, "permissions.allow WebFetch", m[1], &p.Take.Network.Allow)
		return
	}
	what := "permissions.allow " + inShort(rule)
	if m := bashForm.FindStringSubmatch(rule); m != nil && presetOf[m[1]] != "" {
		if preset := presetOf[m[1]]; !slices.Contains(p.Take.Network.Presets, preset) {
			p.Take.Network.Presets = append(p.Take.Network.Presets, preset)
			p.take(file, what, "opens the preset "+preset)
		}
		return
	}
	p.leave(file, what, "in the sandbox Claude needs no permission for it")
}

// host takes an entry for a list of the network.
func (p *Plan) host(file, what, host string, to *[]string) {
	var given settings.Given
	given.Entries("allow", what, []string{host})
	if _, bad := given.Accept(); bad != nil || strings.ContainsAny(host, "@/") || host == "*" {
		p.leave(file, what, "it is no destination that an allowlist can hold")
		return
	}
	if !harmlessHost(host) {
		p.leave(file, what, "a part of the host's name may be a secret: 'allow' and 'deny' of your settings can hold it")
		return
	}
	if !slices.Contains(*to, host) {
		*to = append(*to, host)
		p.take(file, what+" "+host, "")
	}
}

// variables takes switches, log levels and small numbers. Any other value may be a secret,
// or say where Claude connects.
func (p *Plan) variables(file string, env map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		var value string
		_ = json.Unmarshal(env[name], &value) // what is no text is no switch
		steers := strings.HasPrefix(name, "ANTHROPIC_") || strings.HasPrefix(name, "CLAUDE_") || strings.HasPrefix(name, "DISABLE_")
		what := "env." + name
		if !plain(name) {
			what = named("a variable of env", name)
		}
		switch {
		case steers:
			p.leave(file, what, "it steers Claude Code, which the sandbox does itself")
		case harmlessVariable(name, value) && variableForm.MatchString(name) && plain(name):
			if p.Take.Env == nil {
				p.Take.Env = map[string]string{}
			}
			p.Take.Env[name] = value
			p.take(file, what, "")
		default:
			p.leave(file, what, "its value may be a secret: --secret NAME=SOURCE gives it to a run from where it is kept, --env as it is")
		}
	}
}

// bounded is a list of which the rest is left without a word for each.
func bounded(list []string) []string { return list[:min(len(list), maxItems)] }

var redactor = redact.New(redact.Options{Patterns: true})

var shortRule = lazyregexp.New(`^(Bash|Read|Edit|Write|MultiEdit|NotebookEdit|Glob|Grep|WebFetch|WebSearch|Task)` +
	`(?:$|\((?:([a-z]+)[ :)])?)`)

// inShort is a permission without what may be a secret in it: the tool of Claude, and of a
// command the program.
func inShort(rule string) string {
	m := shortRule.FindStringSubmatch(rule)
	switch {
	case m == nil:
		return "(a rule)"
	case m[0] == rule && !strings.Contains(rule, "("):
		return rule
	case m[1] == "Bash" && m[2] != "" && plain(m[2]):
		return "Bash(" + m[2] + "…"
	}
	return m[1] + "(…"
}
