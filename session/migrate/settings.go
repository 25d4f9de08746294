package migrate

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

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
	modelForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._\[\]-]{0,79}$`)
	fetchForm  = regexp.MustCompile(`^WebFetch\(domain:([^()\s]+)\)$`)
	bashForm   = regexp.MustCompile(`^Bash\(([a-z0-9]+)[ :)]`)
	inertValue = regexp.MustCompile(`^(?i:[0-9]{1,6}([.][0-9]{1,3})?|true|false|yes|no|on|off)$`)
	serverForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
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
	}
	for _, rule := range bounded(s.Permissions.Allow) {
		p.allowed(file, rule)
	}
	for _, rule := range bounded(s.Permissions.Deny) {
		if m := fetchForm.FindStringSubmatch(rule); m != nil {
			p.host(file, "permissions.deny "+inShort(rule), m[1], &p.Take.Network.Deny)
			continue
		}
		p.leave(file, "permissions.deny "+inShort(rule),
			"in the sandbox the walls stand for it: protect paths with workspace.protect, close hosts with deny")
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
	for _, dir := range bounded(s.Permissions.Directories) {
		p.leave(file, "permissions.additionalDirectories "+clean(dir), "--mount shows a run a folder in addition")
	}
	if s.Permissions.Mode != "" {
		p.leave(file, "permissions.defaultMode", "in the sandbox Claude asks for nothing; without one --no-sandbox warns first")
	}
	p.variables(file, s.Env)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if why := reasons[key]; why != "" {
			p.leave(file, key, why)
		} else if !slices.Contains([]string{"model", "env", "permissions", "sandbox", "$schema"}, key) {
			p.leave(file, clean(key), "it is about Claude's own interface, and no setting of a sandbox")
		}
	}
}

// allowed takes what opens a host, or packages.
func (p *Plan) allowed(file, rule string) {
	what := "permissions.allow " + inShort(rule)
	if m := fetchForm.FindStringSubmatch(rule); m != nil {
		p.host(file, what, m[1], &p.Take.Network.Allow)
		return
	}
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
	if !slices.Contains(*to, host) {
		*to = append(*to, host)
		if !strings.Contains(what, host) { // one that is none may be anything, and is not said
			what += " " + host
		}
		p.take(file, what, "")
	}
}

// variables takes switches and numbers. Any other value may be a secret, or say where Claude
// connects.
func (p *Plan) variables(file string, env map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		var value string
		_ = json.Unmarshal(env[name], &value) // what is no text is no switch
		steers := strings.HasPrefix(name, "ANTHROPIC_") || strings.HasPrefix(name, "CLAUDE_") || strings.HasPrefix(name, "DISABLE_")
		switch {
		case steers:
			p.leave(file, "env."+clean(name), "it steers Claude Code, which the sandbox does itself")
		case inertValue.MatchString(value) && envName.MatchString(name):
			if p.Take.Env == nil {
				p.Take.Env = map[string]string{}
			}
			p.Take.Env[name] = value
			p.take(file, "env."+name, "")
		default:
			p.leave(file, "env."+clean(name),
				"its value may be a secret: --secret gives it to a run from where it is kept, --env as it is")
		}
	}
}

var envName = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,79}$`)

// bounded is a list of which the rest is left without a word for each.
func bounded(list []string) []string { return list[:min(len(list), maxItems)] }

var redactor = redact.New(redact.Options{Patterns: true})

// clean is text of a file that may hold a secret, without what looks like one, and short.
func clean(text string) string { return redactor.CommandLine([]string{text}, 120) }

var shortRule = regexp.MustCompile(`^[A-Za-z_]+(\((?:domain:[A-Za-z0-9.*-]+\)$|[a-z0-9]+)?)?`)

// inShort is a permission without what may be a secret in it: the tool, and of a command
// the program.
func inShort(rule string) string {
	short := shortRule.FindString(rule)
	if short != rule {
		short += "…"
	}
	return clean(short)
}
