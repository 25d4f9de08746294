package settings_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/settings"
)

const full = `{
  "$schema": "https://example.org/sandbox.schema.json",
  "network": {
    "mode": "allowlist",
    "presets": ["anthropic", "github"],
    "allow": ["docs.example.com", "*.example.org", "git.example.net:22", "192.0.2.0/24:8443", "[2001:db8::/32]:8443"],
    "deny": ["gist.github.com"],
    "private": ["docs.example.com"],
    "guard": "sni",
    "inbound": [8080]
  },
  "workspace": {"mode": "bind", "protect": [".devcontainer", ".git/hooks"]},
  "mounts": [{"host": "~/.cache/go-build", "container": "/home/agent/.cache/go-build", "readonly": true}],
  "secrets": ["NPM_TOKEN", {"name": "DB_URL", "from": "op://vault/db/url", "as": "file"}],
  "env": {"NODE_ENV": "development"}, "envPrefixes": ["CLAUDE_"],
  "limits": {"memory": "4g", "cpus": 2.0, "pids": 1024, "disk": "1.5g", "timeout": "30m"},
  "mcp": {"servers": [{"name": "memory", "command": "npx", "args": ["-y", "@scope/server"], "env": {"K": "${K}"}}]},
  "image": "ghcr.io/org/claude-sandbox:v1", "topology": "sidecar"
}`

func TestParseReadsEverySetting(t *testing.T) {
	got, findings := settings.Parse("sandbox.jsonc", []byte(full), settings.NoFiles)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	want := settings.Settings{
		Network: firewall.Network{
			Mode: firewall.ModeAllowlist, Presets: []string{"anthropic", "github"},
			Allow: []string{"docs.example.com", "*.example.org", "git.example.net:22", "192.0.2.0/24:8443", "[2001:db8::/32]:8443"},
			Deny:  []string{"gist.github.com"}, Private: []string{"docs.example.com"}, Guard: "sni", Inbound: []int{8080},
		},
		Workspace:   settings.Workspace{Mode: "bind", Protect: []string{".devcontainer", ".git/hooks"}},
		Mounts:      []settings.Mount{{Host: "~/.cache/go-build", Container: "/home/agent/.cache/go-build", ReadOnly: true}},
		Secrets:     []settings.Secret{{Name: "NPM_TOKEN"}, {Name: "DB_URL", From: "op://vault/db/url", As: "file"}},
		Env:         map[string]string{"NODE_ENV": "development"},
		EnvPrefixes: []string{"CLAUDE_"},
		Limits:      settings.Limits{Memory: 4 << 30, CPUs: 2, PIDs: 1024, Disk: 3 << 29, Timeout: 30 * time.Minute},
		MCP: settings.MCP{Servers: []settings.MCPServer{{Name: "memory", Command: "npx",
			Args: []string{"-y", "@scope/server"}, Env: map[string]string{"K": "${K}"}}}},
		Image: "ghcr.io/org/claude-sandbox:v1", Topology: settings.TopologySidecar,
	}
	if !reflect.DeepEqual(got.Settings, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got.Settings, want)
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct{ name, src, want, hint string }{
		{"unknown name", `{"netwrok": {}}`, `1:2: error: unknown setting "netwrok" [SBX201]`, `did you mean "network"?`},
		{"mistyped deny opens nothing", `{"network": {"denny": ["a.example"]}}`, `1:14: error: unknown setting "denny" [SBX201]`,
			`did you mean "deny"?`},
		{"hosts of an MCP server", `{"mcp": {"servers": [{"name": "a", "command": "x", "network": {"mode": "none"}}]}}`,
			`1:52: error: unknown setting "network" [SBX201]`, "it shares the agent's network"},
		{"unlike anything", `{"frobnicate": 1}`, `1:2: error: unknown setting "frobnicate" [SBX201]`,
			"accepted: $schema, budgets, env, envPrefixes"},
		{"root is an array", `[]`, `1:1: error: the file must be an object, not an array [SBX202]`, ""},
		{"text for a list", `{"network": {"allow": "a.example"}}`, `1:23: error: network.allow must be an array, not a string [SBX202]`, ""},
		{"number in a list", `{"network": {"allow": ["a.example", 1]}}`,
			`1:37: error: network.allow[1] must be a string, not a number [SBX202]`, ""},
		{"mode", `{"network": {"mode": "allow-list"}}`, `[SBX210]`, ""},
		{"bad entry", "{\"network\": {\n  \"allow\": [\"ok.example\",\n    \"http://x.example/\"]}}", `3:5: error: network.allow`, ""},
		{"unknown preset", `{"network": {"presets": ["githb"]}}`, `1:26: error: network.presets`, "github"},
		{"string boolean", `{"mounts": [{"host": "a", "container": "/a", "readonly": "true"}]}`,
			`1:58: error: mounts[0].readonly must be true or false, not a string [SBX202]`, ""},
		{"relative mount point", `{"mounts": [{"host": "a", "container": "a"}]}`,
			`1:40: error: the container path "a" is not absolute [SBX203]`, ""},
		{"missing field", `{"mounts": [{"host": "a"}]}`, `1:13: error: mounts[0] lacks "container" [SBX203]`, ""},
		{"protect leads out", `{"workspace": {"protect": ["a/../../b"]}}`,
			`1:28: error: workspace.protect: "a/../../b" is not a path below the workspace [SBX203]`, ""},
		{"empty prefix would pass every key", `{"envPrefixes": [""]}`, `1:18: error: "" is not the name of a variable [SBX203]`, ""},
		{"NUL in a value", `{"env": {"A": "x\u0000y"}}`, `1:15: error: env.A holds a NUL character [SBX203]`, ""},
		{"size", `{"limits": {"memory": "4 gigs"}}`, `1:23: error: limits.memory: "4 gigs" is not a size [SBX203]`, `"512m"`},
		{"size that is no number", `{"limits": {"memory": "NaN"}}`, `limits.memory: "NaN" is not a size [SBX203]`, ""},
		{"size below a byte", `{"limits": {"disk": "0.1b"}}`, `"0.1b" is not a size`, ""},
		{"no limit by zero", `{"limits": {"pids": 0}}`, `limits.pids must be a whole number greater than 0`, ""},
		{"duration", `{"limits": {"timeout": "30"}}`, `"30" is not a duration`, `"30m"`},
		{"topology", `{"topology": "pod"}`, `1:14: error: topology cannot be "pod" [SBX203]`, "accepted: single, sidecar"},
		{"duplicate", `{"image": "a", "image": "b"}`, `1:16: error: "image" is given twice`, ""},
		{"list file", `{"network": {"allow": ["@hosts.txt"]}}`, `1:24: error: network.allow[0]: cannot read the list "hosts.txt"`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, findings := settings.Parse("f", []byte(tt.src), settings.NoFiles)
			if s != nil {
				t.Fatalf("accepted as %+v", s)
			}
			if len(findings) != 1 {
				t.Fatalf("want one finding, got %v", findings)
			}
			var out strings.Builder
			if err := diag.WriteText(&out, findings); err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimPrefix(out.String(), "f:"); !strings.Contains(got, tt.want) || !strings.Contains(got, tt.hint) {
				t.Errorf("got %s\nwant %s, hint %s", got, tt.want, tt.hint)
			}
		})
	}
}

// Nothing said and nothing wanted are two things.
func TestEmptyListIsNoMissingList(t *testing.T) {
	for src, want := range map[string][2]bool{ // presets and allow are there
		`{"network": {}}`:                           {false, false},
		`{"network": {"presets": []}}`:              {true, false},
		`{"network": {"presets": [], "allow": []}}`: {true, true},
	} {
		s, findings := settings.Parse("f", []byte(src), settings.NoFiles)
		if s == nil {
			t.Fatalf("%s: %v", src, findings)
		}
		if got := [2]bool{s.Network.Presets != nil, s.Network.Allow != nil}; got != want {
			t.Errorf("%s: got %v, want %v", src, got, want)
		}
	}
}

func TestParseReportsAllAtOnce(t *testing.T) {
	_, findings := settings.Parse("f", []byte(`{"topology": 1, "network": {"allow": ["*", "a..b"], "mode": "open"}, "x": 1}`),
		settings.NoFiles)
	var got []string
	for _, f := range findings {
		got = append(got, fmt.Sprintf("%d %s", f.Column, f.Rule))
	}
	if want := "14 SBX202|39 SBX210|44 SBX210|61 SBX210|70 SBX201"; strings.Join(got, "|") != want {
		t.Errorf("got %s\nwant %s", strings.Join(got, "|"), want)
	}
}

func TestListFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("hosts.txt", "# ours\na.example # the first\n\n  *.b.example:8443\r\n")
	src := []byte(`{"network": {"allow": ["x.example", "@hosts.txt"]}}`)
	s, findings := settings.Parse(filepath.Join(dir, "sandbox.jsonc"), src, settings.DirReader(dir))
	if s == nil {
		t.Fatal(findings)
	}
	if want := []string{"x.example", "a.example", "*.b.example:8443"}; !reflect.DeepEqual(s.Network.Allow, want) {
		t.Errorf("got %q, want %q", s.Network.Allow, want)
	}

	write("hosts.txt", "a.example\n  http://b.example/\n")
	_, findings = settings.Parse(filepath.Join(dir, "sandbox.jsonc"), src, settings.DirReader(dir))
	if len(findings) != 1 || findings[0].File != filepath.Join(dir, "hosts.txt") || findings[0].Line != 2 || findings[0].Column != 3 {
		t.Errorf("a bad line must be placed in the list file: %+v", findings)
	}
}

// The settings belong to the code that is sandboxed; reading a list must not
// become a way to read the host.
func TestListFileCannotEscapeItsFolder(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "key"), []byte("secret.example\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(outside, "key"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../" + filepath.Base(outside) + "/key", filepath.Join(outside, "key"), "link", "."} {
		src := fmt.Sprintf(`{"network": {"allow": [%q]}}`, "@"+name)
		s, findings := settings.Parse(filepath.Join(dir, "f"), []byte(src), settings.DirReader(dir))
		if s != nil || len(findings) != 1 || findings[0].Rule != settings.RuleListFile ||
			strings.Contains(fmt.Sprint(findings), "secret.example") {
			t.Errorf("@%s: got %+v, %v", name, s, findings)
		}
	}
}

// Whatever the text, Parse must not panic, must place every finding, and must
// return settings exactly when nothing is an error.
func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add(
		[]byte(`{"network": {"allow": [1, "@x"], "inbound": [1e9, -1, "x"]}, "secrets": [{}, 1], "limits": {"memory": "1e300g", "cpus": 1e999}}`))
	f.Add([]byte(`{"mcp": {"servers": [{"env": null}]}, "mounts": null, "env": {"": 1}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		s, findings := settings.Parse("f", src, settings.NoFiles)
		if bad := diag.Worst(findings, diag.SeverityError) > 0; bad == (s != nil) {
			t.Fatalf("settings %+v with findings %v", s, findings)
		}
		for _, finding := range findings {
			if finding.Line < 1 || finding.Column < 1 || finding.Message == "" {
				t.Fatalf("badly placed: %+v", finding)
			}
		}
		if s != nil {
			if _, bad := firewall.NewPolicy(s.Network); len(bad) > 0 {
				t.Fatalf("accepted, but the firewall refuses it: %v", bad)
			}
		}
	})
}

// The policy is the one of the network, and each entry is found where it stands.
func TestAcceptedSettingsCarryTheirPolicyAndPlaces(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "hosts.txt"), []byte("# ours\n  b.example\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "f")
	s, findings := settings.Parse(file, []byte("{\"network\": {\"deny\": [\"c.example\"],\n  \"allow\": [\" a.example\", \"@hosts.txt\"]}}"),
		settings.DirReader(dir))
	if s == nil {
		t.Fatal(findings)
	}
	if p := s.Policy(); !p.DecideName("a.example").Allowed() || !p.DecideName("b.example").Allowed() || p.DecideName("c.example").Allowed() {
		t.Errorf("the policy is of %+v", p.Network())
	}
	want := []settings.Entry{
		{List: "deny", Text: "c.example", File: file, Line: 1, Column: 23},
		{List: "allow", Text: "a.example", File: file, Line: 2, Column: 13},
		{List: "allow", Text: "b.example", File: filepath.Join(dir, "hosts.txt"), Line: 2, Column: 3},
	}
	if got := s.Entries(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
