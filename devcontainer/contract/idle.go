package contract

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// idleKey is a key of sandbox.jsonc that nothing reads where it stands.
type idleKey struct {
	name    string
	instead string // where a dev container says the same
}

// idleKeys are all but network, which is what sbx-init reads. Of secrets it reads keys, in a
// container of its own.
var idleKeys = []idleKey{
	{"workspace", "a dev container protects what its mounts lay over themselves, readonly"},
	{"mounts", `use "mounts" in devcontainer.json`},
	{"secrets", `pass it from your machine: "remoteEnv": {"NAME": "${localEnv:NAME}"} in devcontainer.json`},
	{"env", `use "containerEnv" or "remoteEnv" in devcontainer.json`},
	{"envPrefixes", `use "remoteEnv" in devcontainer.json`},
	{"limits", `use "runArgs" in devcontainer.json: "--memory=4g", "--cpus=2", "--pids-limit=1024"`},
	{"mcp", "configure the server in Claude Code, and allow its host"},
	{"instructions", "Claude Code in a dev container reads what its own folder holds"},
	{"image", `use "image" or "build" in devcontainer.json`},
	{"topology", "the form of a dev container is what its files say; sbx-devc init --topology writes both"},
}

// IdleSettings returns the keys of a sandbox.jsonc that have no effect where a dev
// container reads it, which devc says. They are notes, because one file may serve
// sbx-devc run as well.
func IdleSettings(doc *jsonc.Document, devc bool) []diag.Finding {
	return idle(doc, devc, func(*jsonc.Node) (message, hint string) {
		return "in the dev container this key goes with no request: sbx-devc run and the Action hold keys, and nothing does here",
			"work on what needs it in claude-strict, or in sbx-devc run; do not pass it into the container instead, " +
				"where the agent can read it"
	})
}

// idle is IdleSettings, where whyNot says what is wrong with a key; "" = nothing is.
func idle(doc *jsonc.Document, devc bool, whyNot func(key *jsonc.Node) (message, hint string)) []diag.Finding {
	if !devc || doc == nil || doc.Root == nil {
		return nil
	}
	var out []diag.Finding
	for _, key := range idleKeys {
		n := doc.Root.Member(key.name)
		if n == nil || n.Kind == jsonc.Null {
			continue
		}
		keys := boundSecrets(key.name, n)
		for _, e := range keys {
			if message, hint := whyNot(e); message != "" {
				out = append(out, doc.Finding(e.Start, e.End, diag.Finding{
					Rule: "SBX825", Severity: diag.SeverityNote, Pointer: e.Pointer, Message: message, Hint: hint,
				}))
			}
		}
		if len(keys) > 0 && len(keys) == len(n.Elements) {
			continue
		}
		out = append(out, doc.Finding(n.Start, n.End, diag.Finding{
			Rule: "SBX825", Severity: diag.SeverityNote, Pointer: n.Pointer, Hint: key.instead,
			Message: key.name + " has no effect in the dev container; only sbx-devc run and the Action read it",
		}))
	}
	return out
}

// boundSecrets are the elements of "secrets" that are bound to an entry.
func boundSecrets(name string, list *jsonc.Node) (keys []*jsonc.Node) {
	for _, e := range list.Elements {
		if name == "secrets" && e.Member("for") != nil {
			keys = append(keys, e)
		}
	}
	return keys
}

// idleSettings reports those of the dev container's sandbox.jsonc.
func idleSettings(v *rule.View) (out []rule.Finding) {
	findings := IdleSettings(v.Settings, true)
	if service := firewallService(v); service != nil {
		findings = idle(v.Settings, true, func(key *jsonc.Node) (message, hint string) {
			if message, hint = unheldKey(key, service); message == "" {
				message, hint = unboundKey(key, v)
			}
			return message, hint
		})
	}
	for _, f := range findings {
		n := v.Settings.Root.Find(f.Pointer)
		out = append(out, rule.Finding{Place: rights.Place{Doc: v.Settings, Start: n.Start, End: n.End, Pointer: n.Pointer},
			Message: f.Message, Hint: f.Hint, Severity: f.Severity})
	}
	return out
}

// firewallService is the service whose network the dev container joins, where sbx-init has
// the firewall and holds keys; nil = there is none.
func firewallService(v *rule.View) *compose.Service {
	dev := v.Composed.Dev()
	if dev == nil {
		return nil
	}
	name, _ := strings.CutPrefix(dev.Get("network_mode").String(), "service:")
	return v.Composed.Project.Service(name)
}

// noRequest begins the messages about a key that the firewall does not use.
const noRequest = "in the dev container this key goes with no request: "

// unheldKey says why a firewall in a service of its own has no value for a key; "" = it has one, or a file
// may give it.
func unheldKey(key *jsonc.Node, service *compose.Service) (message, hint string) {
	name, _ := key.Member("name").Str()
	from, written := key.Member("from").Str()
	variable, isVariable := strings.CutPrefix(from, "env:")
	if !written {
		variable, isVariable = name, true
	}
	if !isVariable {
		return noRequest + "there its value comes from a variable of the firewall's service alone",
			`write "from": "env:NAME", or work on what needs it in sbx-devc run`
	}
	given := service.Get("environment").Variables()
	if len(service.EnvFiles()) > 0 || slices.ContainsFunc(given, func(g compose.Variable) bool { return g.Name == variable }) {
		return "", ""
	}
	return fmt.Sprintf(noRequest+"the service %s has no variable %s", service.Name, variable),
		fmt.Sprintf(`give it to that service, and to no other: environment: {%s: "${%[1]s:-}"}`, variable)
}

// unboundKey says why the policy lets a key go with no request; "" = it lets it.
func unboundKey(key *jsonc.Node, v *rule.View) (message, hint string) {
	if v.Policy == nil { // which is not valid, and other rules say why
		return "", ""
	}
	if mode := v.Policy.Policy().Mode(); mode != firewall.ModeAllowlist {
		return fmt.Sprintf(noRequest+"the network's mode is %s", mode),
			"keys go only through a firewall that is closed by default: write mode allowlist"
	}
	name, _ := key.Member("name").Str()
	var all []credential.Binding
	for _, s := range v.Policy.Secrets {
		if s.For != "" {
			all = append(all, credential.Binding{Name: s.Name, For: s.For, As: s.As})
		}
	}
	named := func(b credential.Binding) bool { return b.Name == name }
	if first := slices.IndexFunc(all, named); slices.ContainsFunc(all[first+1:], named) {
		return "two keys have the name " + name + ": in the dev container the second one goes with no request", "give each a name of its own"
	}
	_, unused, err := credential.Bind(all, v.Policy.Network.Allow)
	switch i := slices.IndexFunc(unused, named); {
	case err != nil:
		return noRequest + err.Error(), "bind each to other entries"
	case i >= 0:
		return noRequest + "network.allow has no entry for " + unused[i].For, "allow what it is for, or take the key out"
	}
	return "", ""
}
