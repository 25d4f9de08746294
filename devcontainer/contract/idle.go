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
	refused bool   // sbx-devc run refuses it as well
	instead string // where a dev container says the same
}

// idleKeys are all but network, which is what sbx-init reads.
var idleKeys = []idleKey{
	{"workspace", false, "a dev container protects what its mounts lay over themselves, readonly"},
	{"mounts", false, `use "mounts" in devcontainer.json`},
	{"secrets", false, `pass it from your machine: "remoteEnv": {"NAME": "${localEnv:NAME}"} in devcontainer.json`},
	{"env", false, `use "containerEnv" or "remoteEnv" in devcontainer.json`},
	{"envPrefixes", false, `use "remoteEnv" in devcontainer.json`},
	{"limits", false, `use "runArgs" in devcontainer.json: "--memory=4g", "--cpus=2", "--pids-limit=1024"`},
	{"mcp", true, "configure the server in Claude Code, and allow its host"},
	{"image", false, `use "image" or "build" in devcontainer.json`},
	{"topology", false, "the form of a dev container is what its files say; sbx-devc init --topology writes both"},
}

// IdleSettings returns the keys of a sandbox.jsonc that have no effect. devc
// says that a dev container reads the file; then the keys for sbx-devc run are
// notes, because one file may serve both.
func IdleSettings(doc *jsonc.Document, devc bool) []diag.Finding {
	if doc == nil || doc.Root == nil {
		return nil
	}
	var out []diag.Finding
	for _, key := range idleKeys {
		n := doc.Root.Member(key.name)
		if n == nil || n.Kind == jsonc.Null {
			continue
		}
		f := diag.Finding{Rule: "SBX825", Severity: diag.SeverityWarning, Pointer: n.Pointer, Hint: key.instead}
		switch {
		case key.refused:
			f.Message = key.name + " has no effect: nothing reads it in a dev container, and sbx-devc run refuses it"
		case devc:
			f.Severity = diag.SeverityNote
			f.Message = key.name + " has no effect in the dev container; only sbx-devc run and the Action read it"
		default:
			continue
		}
		out = append(out, doc.Finding(n.Start, n.End, f))
	}
	return out
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
