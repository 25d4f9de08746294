package runplan

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/workspace"
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
		{"a host", settings.Settings{}, network(firewall.Network{Allow: []string{"evil.example.com"}}), "evil.example.com",
			"--allow evil.example.com"},
		{"a preset", settings.Settings{}, network(firewall.Network{Presets: []string{"anthropic", "npm"}}),
			"more than you allowed: network: preset:npm\n", "--preset npm"},
		{"a port", network(firewall.Network{Allow: []string{"example.com:443"}}), network(firewall.Network{Allow: []string{"example.com:22"}}),
			"example.com:22", "--allow example.com:22"},
		{"the mode", settings.Settings{}, network(firewall.Network{Mode: firewall.ModeHost}), "mode host", "--network host --accept-no-firewall"},
		{"to learn", settings.Settings{}, network(firewall.Network{Mode: firewall.ModeAudit}), "mode audit", "--network audit"},
		{"a private name under audit", network(firewall.Network{Mode: firewall.ModeAudit}),
			network(firewall.Network{Private: []string{"db.internal"}}), "db.internal", "--trust-project"},
		{"metadata under audit", network(firewall.Network{Mode: firewall.ModeAudit}),
			network(firewall.Network{Allow: []string{"169.254.169.254"}}), "169.254.169.254", "--allow 169.254.169.254"},
		{"the mode over none", network(firewall.Network{Mode: firewall.ModeNone}), network(firewall.Network{Mode: firewall.ModeAllowlist}),
			"mode allowlist", "--network allowlist"},
		{"the guard", settings.Settings{}, network(firewall.Network{Guard: "off"}), "guard", "--trust-project"},
		{"a private name", settings.Settings{}, network(firewall.Network{Private: []string{"db.internal"}}), "db.internal", "--trust-project"},
		{"an inbound port", settings.Settings{}, network(firewall.Network{Inbound: []int{8080}}), "8080", "--trust-project"},
		{"a mount", settings.Settings{}, settings.Settings{Mounts: []settings.Mount{{Host: "~/.ssh", Container: "/keys"}}},
			"~/.ssh", "--trust-project"},
		{"a secret", settings.Settings{}, settings.Settings{Secrets: []settings.Secret{{Name: "TOKEN"}}}, "TOKEN", "--trust-project"},
		{"variables", settings.Settings{EnvPrefixes: []string{"MY_"}}, settings.Settings{EnvPrefixes: []string{"M"}},
			"envPrefixes: M", "--trust-project"},
		{"the image", settings.Settings{}, settings.Settings{Image: "evil:latest"}, "evil:latest", "--image evil:latest"},
		{"the topology", settings.Settings{}, settings.Settings{Topology: settings.TopologySingle}, "single", "--trust-project"},
		{"processes", settings.Settings{}, settings.Settings{Limits: settings.Limits{PIDs: 100_000}}, "more pids", "--pids 100000"},
		{"memory", settings.Settings{Limits: settings.Limits{Memory: 1 << 30}}, settings.Settings{Limits: settings.Limits{Memory: 2 << 30}},
			"more memory", "--memory 2147483648"},
		{"time", settings.Settings{Limits: settings.Limits{Timeout: time.Minute}}, settings.Settings{Limits: settings.Limits{Timeout: time.Hour}},
			"more timeout", "--timeout 1h0m0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Options{Layers: Layers{User: c.user, Project: &c.project}}.Effective()
			if !errors.Is(err, workspace.ErrRefused) {
				t.Fatalf("got %v, want ErrRefused", err)
			}
			if !strings.Contains(err.Error()+"\n", c.says) {
				t.Errorf("the error does not name %q: %v", c.says, err)
			}
			if hint := diag.HintOf(err); !strings.Contains(hint, c.wantHint) {
				t.Errorf("the hint %q does not offer %q", hint, c.wantHint)
			}
			if _, err := (Options{Layers: Layers{User: c.user, Project: &c.project, TrustProject: true}}).Effective(); err != nil {
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
	_, err := Options{Layers: Layers{User: user, Project: &project, InputsNotFlags: true}}.Effective()
	want := `allow it in the workflow with "allowed_domains: a.example:22, b.example" and "image: other:1" and "presets: ` +
		`npm" and "timeout_minutes: 60", or take it out of .devcontainer/sandbox.jsonc`
	if got := diag.HintOf(err); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	project = network(firewall.Network{Mode: firewall.ModeHost})
	_, err = Options{Layers: Layers{Project: &project, InputsNotFlags: true}}.Effective()
	if got := diag.HintOf(err); got != "no input allows this, take it out of .devcontainer/sandbox.jsonc: network: mode host" {
		t.Errorf("got %s", got)
	}
}

// Attack: the project's file makes the engine or claude find, load or reach
// something of the project's own: a "claude" in the workspace that prints a
// success, a library before every program, another model API.
func TestProjectVariablesThatSteerProgramsAreRefused(t *testing.T) {
	for _, name := range []string{
		"PATH", "Path", "LD_PRELOAD", "LD_LIBRARY_PATH", "NODE_OPTIONS", "BUN_OPTIONS", "BASH_ENV", "BASH_FUNC_git%%",
		"ENV", "SHELL", "HOME", "IFS",
		"HTTPS_PROXY", "https_proxy", "all_proxy", "npm_config_registry", "GIT_SSH_COMMAND", "GIT_CONFIG_COUNT", "PYTHONPATH",
		"PYTHONSTARTUP", "GOFLAGS",
		"ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CONFIG_DIR", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE",
		"XDG_CONFIG_HOME", "IS_SANDBOX",
		// No list of ours held these, so the rule is by what is harmless.
		"DOTNET_STARTUP_HOOKS", "MAVEN_OPTS", "GRADLE_OPTS", "CORECLR_PROFILER_PATH", "R_PROFILE", "ERL_FLAGS",
		"JULIA_LOAD_PATH", "GIO_MODULE_DIR",
		"GTK_MODULES", "RIPGREP_CONFIG_PATH", "USE_BUILTIN_RIPGREP", "INPUTRC", "VIMINIT", "SOME_NEW_TOOL_OPTS", "XLOCALEDIR",
		"TOOLS", "APP_PATH", "WHATEVER",
	} {
		project := settings.Settings{Env: map[string]string{name: "/workspace/bin"}}
		_, err := Options{Layers: Layers{Project: &project}}.Effective()
		if !errors.Is(err, workspace.ErrRefused) || !strings.Contains(err.Error(), "env: "+name) {
			t.Errorf("%s: got %v, want ErrRefused", name, err)
		} else if hint := diag.HintOf(err); !strings.Contains(hint, "--trust-project") {
			t.Errorf("%s: the hint is %q", name, hint)
		}
	}
	switches := settings.Settings{Env: map[string]string{"GIT_SSL_NO_VERIFY": "1", "CORECLR_ENABLE_PROFILING": "1",
		"USE_BUILTIN_RIPGREP": "0", "MY_INSECURE": "true"}}
	_, err := Options{Layers: Layers{Project: &switches}}.Effective()
	for name := range switches.Env {
		if err == nil || !strings.Contains(err.Error(), "env: "+name+" ") {
			t.Errorf("%s as a switch: got %v, want it refused", name, err)
		}
	}
}

// Variables that ordinary projects set for their own programs need no permission.
func TestProjectsOwnVariablesAreTaken(t *testing.T) {
	project := settings.Settings{Env: map[string]string{
		"NODE_ENV": "test", "DATABASE_URL": "sqlite:x", "TZ": "Europe/Berlin", "CI": "true", "PORT": "3000", "DEBUG": "app:*",
		"LOG_LEVEL": "debug", "RAILS_ENV": "test",
		"REDIS_HOST": "localhost", "POSTGRES_PASSWORD": "test", "STRIPE_API_KEY": "sk_test_x", "AWS_REGION": "eu-west-1",
		"PYTHONUNBUFFERED": "1", "LANG": "C.UTF-8",
		"FEATURE_X": "1", "CGO_ENABLED": "0", "GOOS": "linux", "APP_WORKERS": "4", "FORCE_COLOR": "1", "lower_case_url": "http://x", "EMPTY": "",
	}}
	if _, err := (Options{Layers: Layers{Project: &project}}).Effective(); err != nil {
		t.Errorf("plain variables of a project are refused: %v", err)
	}
}

func TestEverythingThatIsWiderIsNamedAtOnce(t *testing.T) {
	project := settings.Settings{
		Network: firewall.Network{Allow: []string{"a.example.com", "b.example.com"}},
		Image:   "other:1",
	}
	_, err := Options{Layers: Layers{Project: &project}}.Effective()
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
		Env:     map[string]string{"APP_ENV": "user"},
	}
	project := settings.Settings{
		Network:   firewall.Network{Presets: []string{"anthropic", "github", "vscode"}, Deny: []string{"gist.github.com"}},
		Limits:    settings.Limits{Memory: 1 << 30, CPUs: 2, PIDs: 64},
		Workspace: settings.Workspace{Protect: []string{"deploy"}},
		Env:       map[string]string{"APP_ENV": "project", "APP_STAGE": "project"},
	}
	s, err := Options{Layers: Layers{User: user, Project: &project}, Containers: Containers{Image: "ours:1"}}.Effective()
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Network.Presets) > 0 {
		t.Errorf("presets are %q, want none: the file's are for its dev container", s.Network.Presets)
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
	if s.Env["APP_ENV"] != "user" || s.Env["APP_STAGE"] != "project" {
		t.Errorf("env is %v", s.Env)
	}
	if s.Image != "" {
		t.Errorf("the image is %q, and no layer names one", s.Image)
	}
}

// A run opens no host unless somebody says so.
func TestDefaultOpensNoHost(t *testing.T) {
	if n := Defaults().Network; len(n.Presets)+len(n.Allow)+len(n.Private) > 0 || n.Mode != firewall.ModeAllowlist {
		t.Errorf("the default network is %+v", n)
	}
}

// A list of the project's that is there, also an empty one, takes the place of
// what held without it; the user's own flags stay.
func TestEmptyListOfTheProjectIsEmpty(t *testing.T) {
	base := network(firewall.Network{Presets: []string{"npm", "pypi"}, Allow: []string{"a.example", "b.example"}})
	own := firewall.Network{Presets: []string{"pypi"}, Allow: []string{"b.example"}} // the rest is a default
	for name, c := range map[string]struct {
		project       firewall.Network
		presets, list []string
	}{
		"no list":    {firewall.Network{}, base.Network.Presets, base.Network.Allow},
		"empty":      {firewall.Network{Presets: []string{}, Allow: []string{}}, own.Presets, own.Allow},
		"no presets": {firewall.Network{Presets: []string{}}, own.Presets, base.Network.Allow},
		"some of them": {firewall.Network{Presets: []string{"npm"}, Allow: []string{"a.example"}}, []string{"npm", "pypi"},
			[]string{"a.example", "b.example"}},
	} {
		s, err := narrow(base, network(own), network(c.project), func(found []wide) string { return offerFlags(found, "sbx-devc trust") })
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Equal(s.Network.Presets, c.presets) || !slices.Equal(s.Network.Allow, c.list) {
			t.Errorf("%s: got %q, %q; want %q, %q", name, s.Network.Presets, s.Network.Allow, c.presets, c.list)
		}
	}
}

// A project's file may ask for operations at hosts, and gets those that the user has
// opened, by operations or whole. A refused entry is offered as it has to be typed.
func TestAttackOperationThatAProjectAdds(t *testing.T) {
	const get, post = "https://api.example.com GET,HEAD /v1/**", "https://api.example.com POST /v1/**"
	for _, c := range []struct {
		name          string
		user, project []string
		flags, inputs string // of the offer; "" = nothing is wider
	}{
		{"less than the host", []string{"api.example.com"}, []string{get}, "", ""},
		{"the same", []string{get}, []string{get}, "", ""},
		{"less", []string{get}, []string{"https://api.example.com GET /v1/models"}, "", ""},
		{"the host", []string{get}, []string{"api.example.com"}, "--allow api.example.com", "allowed_domains: api.example.com"},
		{"a wildcard of hosts", []string{get}, []string{"*.example.com"}, "--allow *.example.com", "allowed_domains: *.example.com"},
		{"another method", []string{get}, []string{get, post}, "--allow '" + post + "'", "allowed_domains: " + post},
		{"by the letter", []string{get}, []string{"https://api.example.com GET /V1/**"}, "--allow 'https://api.example.com GET /V1/**'",
			"allowed_domains: https://api.example.com GET /V1/**"},
		{"both", nil, []string{post, "z.example"}, "--allow '" + post + "' --allow z.example", "allowed_domains: z.example, " + post},
	} {
		var offers []string
		for _, offer := range []func([]wide) string{func(found []wide) string { return offerFlags(found, "sbx-devc trust") }, offerInputs} {
			s, err := narrow(network(firewall.Network{Allow: c.user}), settings.Settings{}, network(firewall.Network{Allow: c.project}), offer)
			if err == nil && !slices.Equal(s.Network.Allow, c.project) {
				t.Errorf("%s: %q is open", c.name, s.Network.Allow)
			}
			offers = append(offers, diag.HintOf(err))
		}
		if !strings.Contains(offers[0], c.flags) || !strings.Contains(offers[1], c.inputs) || c.flags == "" && offers[0] != "" {
			t.Errorf("%s: %q", c.name, offers)
		}
	}
}

// init writes presets into every project's file that a dev container needs and
// a run does not. They are closed in a run, and no reason to refuse it.
func TestPresetsOfTheDevContainerStayClosedInARun(t *testing.T) {
	project := network(firewall.Network{Presets: []string{"anthropic", "github", "vscode"}})
	for name, c := range map[string]struct {
		o    Options
		want []string
		note string
	}{
		"by default": {Options{}, nil,
			"the project's sandbox.jsonc opens github for its dev container; this run leaves that closed, and --preset github opens it"},
		"in the Action": {Options{Layers: Layers{InputsNotFlags: true}}, nil, `and the input "presets: github" opens it`},
		"named": {Options{Layers: Layers{User: network(firewall.Network{Presets: []string{"github", "anthropic"}})}},
			[]string{"anthropic", "github"}, "the preset github leaves gist.github.com closed in a run, and --allow gist.github.com opens it"},
		"trusted": {Options{Layers: Layers{TrustProject: true}}, []string{"github"}, ""},
	} {
		c.o.Project = &project
		s, err := c.o.Effective()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		slices.Sort(s.Network.Presets)
		if !slices.Equal(s.Network.Presets, c.want) {
			t.Errorf("%s: presets are %q, want %q", name, s.Network.Presets, c.want)
		}
		if note := strings.Join(notes(c.o, &workspace.Workspace{}, s.Network.Mode), "\n"); !strings.Contains(note, c.note) ||
			c.note == "" && note != "" {
			t.Errorf("%s: the note is %q", name, note)
		}
	}
}

func TestProjectCannotDropTheUsersDeny(t *testing.T) {
	user := network(firewall.Network{Deny: []string{"gist.github.com"}})
	project := network(firewall.Network{Presets: []string{"github"}})
	s, err := Options{Layers: Layers{User: user, Project: &project}}.Effective()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(s.Network.Deny, "gist.github.com") {
		t.Errorf("deny is %q", s.Network.Deny)
	}
}
