package lint_test

import (
	"slices"
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

// A firewall in a service of its own holds the keys for which it has a variable. A variable of a
// key in the agent's service is one that inspect shows, whatever its name.
func TestKeysInTheFirewallsService(t *testing.T) {
	for name, tt := range map[string]struct{ firewall, agent, from, want string }{
		"held":             {`APP_KEY: "${APP_KEY:-}"`, `A: b`, `, "from": "env:APP_KEY"`, ""},
		"by its own name":  {`app: "${app:-}"`, `A: b`, ``, ""},
		"no variable":      {`OTHER: x`, `A: b`, `, "from": "env:APP_KEY"`, "SBX825 the service firewall has no variable APP_KEY"},
		"another source":   {`APP_KEY: x`, `A: b`, `, "from": "op://a/b/c"`, "SBX825 from a variable of the firewall's service alone"},
		"the agent has it": {`APP_KEY: "${APP_KEY:-}"`, `APP_KEY: "${APP_KEY:-}"`, `, "from": "env:APP_KEY"`, "SBX502 APP_KEY of the host"},
		"under another name": {`APP_KEY: "${APP_KEY:-}"`, `REMOTE: "https://x:${APP_KEY:-}@a.example"`, `, "from": "env:APP_KEY"`,
			"SBX502 APP_KEY of the host"},
		"from a file": {"}\n    env_file: {path: /keys, required: false", `A: b`, `, "from": "env:APP_KEY"`, ""},
		"no entry": {`app: x, A: x`, `A: b`, `, "for": "git:github.com/acme/other"}, {"name": "A"`,
			"SBX825 no entry for git:github.com/acme/other"},
		"audit":     {`app: x`, `A: b`, ``, "SBX825 the network's mode is audit"},
		"one name":  {`app: x`, `A: b`, `, "for": "https://a.example GET /x"}, {"name": "app"`, "SBX825 two keys have the name app"},
		"one entry": {`app: x, B: x`, `A: b`, `, "for": "git:github.com/acme/app"}, {"name": "B"`, "SBX825 are both for"},
	} {
		tree := devcontainer.Memory{
			".devcontainer/sandbox.jsonc": `{"network": {"allow": ["git:github.com/acme/app"]},
				"secrets": [{"name": "app"` + tt.from + `, "for": "git:github.com/acme/app"}]}`,
			".devcontainer/compose.yaml": "services:\n  firewall:\n    image: a:1\n    environment: {" + tt.firewall + "}\n" +
				"  agent:\n    image: a:1\n    network_mode: service:firewall\n    environment: {" + tt.agent + "}\n",
		}
		if name == "audit" {
			tree[".devcontainer/sandbox.jsonc"] = strings.Replace(tree[".devcontainer/sandbox.jsonc"], `"allow"`, `"mode": "audit", "allow"`, 1)
		}
		var got []string
		for _, f := range lint.Check(load(t, tree, `{"dockerComposeFile": "compose.yaml", "service": "agent"}`)) {
			if f.Rule == "SBX825" || f.Rule == "SBX502" {
				got = append(got, f.Rule+" "+f.Message)
			}
		}
		rule, message, _ := strings.Cut(tt.want, " ")
		other := func(said string) bool { return !strings.HasPrefix(said, rule) || !strings.Contains(said, message) }
		if (len(got) > 0) != (tt.want != "") || slices.ContainsFunc(got, other) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
