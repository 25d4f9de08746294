package contract

import (
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// idleKey is a key of sandbox.jsonc that nothing reads where it stands.
type idleKey struct {
	name    string
	instead string // where a dev container says the same
}

// idleKeys are all but network, which is what sbx-init reads.
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
			out = append(out, doc.Finding(e.Start, e.End, diag.Finding{
				Rule: "SBX825", Severity: diag.SeverityNote, Pointer: e.Pointer,
				Message: "in the dev container this key goes with no request: sbx-devc run and the Action hold keys, and nothing does here",
				Hint:    "work on what needs it in sbx-devc run; do not pass it into the container instead, where the agent can read it",
			}))
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
	for _, f := range IdleSettings(v.Settings, true) {
		n := v.Settings.Root.Find(f.Pointer)
		out = append(out, rule.Finding{Place: rights.Place{Doc: v.Settings, Start: n.Start, End: n.End, Pointer: n.Pointer},
			Message: f.Message, Hint: f.Hint, Severity: f.Severity})
	}
	return out
}
