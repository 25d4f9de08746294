package sandbox

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/settings"
)

func network(n firewall.Network) settings.Settings { return settings.Settings{Network: n} }

// TestProjectFileThatWidensIsRefused: the file belongs to the code that is
// being sandboxed, so whatever it would open is refused, with the flag that
// would allow it.
func TestProjectFileThatWidensIsRefused(t *testing.T) {
	for _, c := range []struct {
		name     string
		user     settings.Settings
		project  settings.Settings
		says     string
		wantHint string
	}{
		{"a host", settings.Settings{}, network(firewall.Network{Allow: []string{"evil.example.com"}}), "evil.example.com", "--allow evil.example.com"},
		{"a preset", settings.Settings{}, network(firewall.Network{Presets: []string{"anthropic", "npm"}}), "more than you allowed: network: preset:npm\n", "--preset npm"},
		{"a port", network(firewall.Network{Allow: []string{"example.com:443"}}), network(firewall.Network{Allow: []string{"example.com:22"}}), "example.com:22", "--allow example.com:22"},
		{"the mode", settings.Settings{}, network(firewall.Network{Mode: firewall.ModeHost}), "mode host", "--network host --accept-no-firewall"},
		{"to learn", settings.Settings{}, network(firewall.Network{Mode: firewall.ModeAudit}), "mode audit", "--network audit"},
		{"a private name under audit", network(firewall.Network{Mode: firewall.ModeAudit}), network(firewall.Network{Private: []string{"db.internal"}}), "db.internal", "--trust-project"},
		{"metadata under audit", network(firewall.Network{Mode: firewall.ModeAudit}), network(firewall.Network{Allow: []string{"169.254.169.254"}}), "169.254.169.254", "--allow 169.254.169.254"},
		{"the mode over none", network(firewall.Network{Mode: firewall.ModeNone}), network(firewall.Network{Mode: firewall.ModeAllowlist}), "mode allowlist", "--network allowlist"},
		{"the guard", settings.Settings{}, network(firewall.Network{Guard: "off"}), "guard", "--trust-project"},
		{"a private name", settings.Settings{}, network(firewall.Network{Private: []string{"db.internal"}}), "db.internal", "--trust-project"},
		{"an inbound port", settings.Settings{}, network(firewall.Network{Inbound: []int{8080}}), "8080", "--trust-project"},
		{"a mount", settings.Settings{}, settings.Settings{Mounts: []settings.Mount{{Host: "~/.ssh", Container: "/keys"}}}, "~/.ssh", "--trust-project"},
		{"a secret", settings.Settings{}, settings.Settings{Secrets: []settings.Secret{{Name: "TOKEN"}}}, "TOKEN", "--trust-project"},
		{"variables", settings.Settings{EnvPrefixes: []string{"MY_"}}, settings.Settings{EnvPrefixes: []string{"M"}}, "envPrefixes: M", "--trust-project"},
		{"the image", settings.Settings{}, settings.Settings{Image: "evil:latest"}, "evil:latest", "--image evil:latest"},
		{"the topology", settings.Settings{}, settings.Settings{Topology: settings.TopologySingle}, "single", "--trust-project"},
		{"processes", settings.Settings{}, settings.Settings{Limits: settings.Limits{PIDs: 100_000}}, "more pids", "--pids 100000"},
		{"memory", settings.Settings{Limits: settings.Limits{Memory: 1 << 30}}, settings.Settings{Limits: settings.Limits{Memory: 2 << 30}}, "more memory", "--memory 2147483648"},
		{"time", settings.Settings{Limits: settings.Limits{Timeout: time.Minute}}, settings.Settings{Limits: settings.Limits{Timeout: time.Hour}}, "more timeout", "--timeout 1h0m0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := effective(Options{User: c.user, Project: &c.project})
			if !errors.Is(err, ErrRefused) {
				t.Fatalf("got %v, want ErrRefused", err)
			}
			if !strings.Contains(err.Error()+"\n", c.says) {
				t.Errorf("the error does not name %q: %v", c.says, err)
			}
			if hint := diag.HintOf(err); !strings.Contains(hint, c.wantHint) {
				t.Errorf("the hint %q does not offer %q", hint, c.wantHint)
			}
			if _, err := effective(Options{User: c.user, Project: &c.project, TrustProject: true}); err != nil {
				t.Errorf("--trust-project does not accept it: %v", err)
			}
		})
	}
}

// In a workflow nobody can give a flag.
func TestRefusalInAWorkflowNamesInputs(t *testing.T) {
	project := network(firewall.Network{Presets: []string{"anthropic", "npm"}, Allow: []string{"b.example", "a.example:22"}})
	project.Limits.Timeout, project.Image = time.Hour, "other:1"
	user := settings.Settings{Limits: settings.Limits{Timeout: time.Minute}}
	_, err := effective(Options{User: user, Project: &project, InputsNotFlags: true})
	want := `allow it in the workflow with "allowed_domains: a.example:22, b.example" and "image: other:1" and "presets: npm" and "timeout_minutes: 60", or take it out of .devcontainer/sandbox.jsonc`
	if got := diag.HintOf(err); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	project = network(firewall.Network{Mode: firewall.ModeHost})
	_, err = effective(Options{Project: &project, InputsNotFlags: true})
	if got := diag.HintOf(err); got != "no input allows this, take it out of .devcontainer/sandbox.jsonc: network: mode host" {
		t.Errorf("got %s", got)
	}
}

// Attack: the project's file makes the engine or claude find, load or reach
// something of the project's own: a "claude" in the workspace that prints a
// success, a library before every program, another model API.
func TestProjectVariablesThatSteerProgramsAreRefused(t *testing.T) {
	for _, name := range []string{
		"PATH", "Path", "LD_PRELOAD", "LD_LIBRARY_PATH", "NODE_OPTIONS", "BUN_OPTIONS", "BASH_ENV", "BASH_FUNC_git%%", "ENV", "SHELL", "HOME", "IFS",
		"HTTPS_PROXY", "https_proxy", "all_proxy", "npm_config_registry", "GIT_SSH_COMMAND", "GIT_CONFIG_COUNT", "PYTHONPATH", "PYTHONSTARTUP", "GOFLAGS",
		"ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CONFIG_DIR", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "XDG_CONFIG_HOME", "IS_SANDBOX",
	} {
		project := settings.Settings{Env: map[string]string{name: "/workspace/bin"}}
		_, err := effective(Options{Project: &project})
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "env: "+name) {
			t.Errorf("%s: got %v, want ErrRefused", name, err)
		} else if hint := diag.HintOf(err); !strings.Contains(hint, "--trust-project") {
			t.Errorf("%s: the hint is %q", name, hint)
		}
	}
	project := settings.Settings{Env: map[string]string{"NODE_ENV": "test", "DATABASE_URL": "sqlite:x", "TZ": "UTC", "APP_PATH": "x"}}
	if _, err := effective(Options{Project: &project}); err != nil {
		t.Errorf("plain variables of a project are refused: %v", err)
	}
}

func TestEverythingThatIsWiderIsNamedAtOnce(t *testing.T) {
	project := settings.Settings{
		Network: firewall.Network{Allow: []string{"a.example.com", "b.example.com"}},
		Image:   "other:1",
	}
	_, err := effective(Options{Project: &project})
	for _, part := range []string{"a.example.com", "b.example.com", "other:1"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not name %s", err, part)
		}
	}
	if hint := diag.HintOf(err); !strings.Contains(hint, "--allow a.example.com --allow b.example.com --image other:1") {
		t.Errorf("the hint %q cannot be pasted", hint)
	}
}

func TestProjectNarrows(t *testing.T) {
	user := settings.Settings{
		Network: firewall.Network{Allow: []string{"docs.example.com"}},
		Limits:  settings.Limits{Memory: 4 << 30},
		Env:     map[string]string{"A": "user"},
	}
	project := settings.Settings{
		Network:   firewall.Network{Presets: []string{"github"}, Deny: []string{"gist.github.com"}},
		Limits:    settings.Limits{Memory: 1 << 30, CPUs: 2, PIDs: 64},
		Workspace: settings.Workspace{Protect: []string{"deploy"}},
		Env:       map[string]string{"A": "project", "B": "project"},
	}
	s, err := effective(Options{User: user, Project: &project, Image: "ours:1"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"github"}; !slices.Equal(s.Network.Presets, want) {
		t.Errorf("presets are %q, want %q: the file's list takes the place of the default one", s.Network.Presets, want)
	}
	if want := []string{"docs.example.com"}; !slices.Equal(s.Network.Allow, want) {
		t.Errorf("allow is %q, want %q: what the user gave by flag stays", s.Network.Allow, want)
	}
	if !slices.Contains(s.Network.Deny, "gist.github.com") || !slices.Contains(s.Workspace.Protect, "deploy") {
		t.Errorf("the project's deny and protect lists are lost: %+v", s)
	}
	if s.Limits.Memory != 1<<30 || s.Limits.CPUs != 2 || s.Limits.PIDs != 64 {
		t.Errorf("limits are %+v, want the smaller ones", s.Limits)
	}
	if s.Env["A"] != "user" || s.Env["B"] != "project" {
		t.Errorf("env is %v", s.Env)
	}
	if s.Image != "ours:1" {
		t.Errorf("the image is %q", s.Image)
	}
}

func TestProjectCannotDropTheUsersDeny(t *testing.T) {
	user := network(firewall.Network{Deny: []string{"gist.github.com"}})
	project := network(firewall.Network{Presets: []string{"github"}})
	s, err := effective(Options{User: user, Project: &project})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(s.Network.Deny, "gist.github.com") {
		t.Errorf("deny is %q", s.Network.Deny)
	}
}
