package lint_test

import (
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/contract"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Every key but network is said to do nothing in a dev container, and nothing is said
// where run reads the file.
func TestSettingsWithoutEffect(t *testing.T) {
	for key, tt := range map[string]struct {
		value         string
		inside, alone diag.Severity
	}{
		"network":     {`{"presets": ["anthropic"]}`, "", ""},
		"$schema":     {`"x"`, "", ""},
		"workspace":   {`{"protect": [".x"]}`, diag.SeverityNote, ""},
		"mounts":      {`[{"host": "/a", "container": "/b"}]`, diag.SeverityNote, ""},
		"env":         {`{"A": "b"}`, diag.SeverityNote, ""},
		"envPrefixes": {`["A_"]`, diag.SeverityNote, ""},
		"limits":      {`{"memory": "4g"}`, diag.SeverityNote, ""},
		"image":       {`"a:1"`, diag.SeverityNote, ""},
		"topology":    {`"sidecar"`, diag.SeverityNote, ""},
		"secrets":     {`["A"]`, diag.SeverityNote, ""},
		"mcp":         {`{"servers": [{"name": "x", "command": "y"}]}`, diag.SeverityNote, ""},
	} {
		text := `{"` + key + `": ` + tt.value + `}`
		of := func(findings []diag.Finding) (found diag.Severity) {
			for _, f := range findings {
				if f.Rule == "SBX825" {
					found = f.Severity
				}
			}
			return found
		}
		tree := devcontainer.Memory{".devcontainer/sandbox.jsonc": text}
		if got := of(lint.Check(load(t, tree, `{"image": "a:1"}`))); got != tt.inside {
			t.Errorf("%s in a dev container: %q, want %q", key, got, tt.inside)
		}
		doc, _ := jsonc.Parse("sandbox.jsonc", []byte(text))
		if got := of(contract.IdleSettings(doc, false)); got != tt.alone {
			t.Errorf("%s alone: %q, want %q", key, got, tt.alone)
		}
	}
}

// A secret that is bound to an entry is a key, which nothing holds in a dev container. The
// advice is not to pass it in, as with other secrets.
func TestKeysWithoutEffect(t *testing.T) {
	tree := devcontainer.Memory{".devcontainer/sandbox.jsonc": `{"secrets": [
		{"name": "A", "for": "git:github.com/acme/app"},
		"B"]}`}
	var got []string
	for _, f := range lint.Check(load(t, tree, `{"image": "a:1"}`)) {
		if f.Rule == "SBX825" {
			got = append(got, f.Pointer)
			if isKey := f.Pointer == "/secrets/0"; isKey != strings.Contains(f.Hint, "sbx-devc run; do not pass it") ||
				isKey == strings.Contains(f.Hint, "remoteEnv") {
				t.Errorf("%s: %s: %s", f.Pointer, f.Message, f.Hint)
			}
		}
	}
	if want := "/secrets /secrets/0"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	tree[".devcontainer/sandbox.jsonc"] = `{"secrets": [{"name": "A", "for": "git:github.com/acme/app"}]}`
	for _, f := range lint.Check(load(t, tree, `{"image": "a:1"}`)) {
		if f.Rule == "SBX825" && f.Pointer != "/secrets/0" {
			t.Errorf("%s: %s", f.Pointer, f.Message)
		}
	}
}
