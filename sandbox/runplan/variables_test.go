package runplan

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/test/workspacetest"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/workspace"
)

// A project says which secrets it needs. Where they come from is the user's word.
func TestAProjectNamesSecretsAndTheUserTheirSources(t *testing.T) {
	named := []settings.Secret{{Name: "NPM_TOKEN"}}
	own := settings.Settings{Secrets: []settings.Secret{{Name: "NPM_TOKEN", From: "pass:npm"}}}
	for name, c := range map[string]struct {
		o    Options
		want []Secret
		fail error
		hint string
	}{
		"asked for, and not trusted": {Options{Layers: Layers{Project: &settings.Settings{Secrets: named}}}, nil,
			ErrWidens, "--secret NPM_TOKEN"},
		"asked for, and trusted": {Options{Layers: Layers{Project: &settings.Settings{Secrets: named}, TrustProject: true}},
			[]Secret{{Name: "NPM_TOKEN", From: "env:NPM_TOKEN"}}, nil, ""},
		"asked for, and given": {Options{Layers: Layers{Project: &settings.Settings{Secrets: named}, Own: own}},
			[]Secret{{Name: "NPM_TOKEN", From: "pass:npm"}}, nil, ""},
		"asked for, and refused": {Options{Layers: Layers{Project: &settings.Settings{Secrets: named}, Own: own},
			Environment: Environment{NoSecrets: []string{"NPM_TOKEN"}}}, nil, nil, ""},
		"the user's source wins over the project's": {Options{
			Layers: Layers{
				TrustProject: true, Own: own,
				Project: &settings.Settings{Secrets: []settings.Secret{{Name: "NPM_TOKEN", From: "cmd:evil", As: "file"}}},
			},
		},
			[]Secret{{Name: "NPM_TOKEN", From: "pass:npm", File: "/.sbx-secrets/NPM_TOKEN"}}, nil, ""},
		"the flag's source wins over the file's": {
			Options{Layers: Layers{Own: own, User: settings.Settings{Secrets: []settings.Secret{{Name: "NPM_TOKEN", From: "env:X"}}}}},
			[]Secret{{Name: "NPM_TOKEN", From: "env:X"}}, nil, ""},
		"the model's key": {Options{Layers: Layers{Own: settings.Settings{Secrets: []settings.Secret{{Name: "ANTHROPIC_API_KEY"}}}}}, nil,
			ErrConfig, "key stays on the host"},
		"the model's key under another name": {
			Options{Layers: Layers{Own: settings.Settings{Secrets: []settings.Secret{{Name: "K", From: "env:ANTHROPIC_API_KEY"}}}}},
			nil, ErrConfig, "key stays on the host"},
	} {
		p, err := New(c.o, Facts{Workspace: workspacetest.Folder(t)})
		if !errors.Is(err, c.fail) || err != nil && !strings.Contains(diag.HintOf(err), c.hint) {
			t.Errorf("%s: %v, hint %q", name, err, diag.HintOf(err))
		} else if err == nil && !slices.Equal(p.Secrets, c.want) {
			t.Errorf("%s: %+v", name, p.Secrets)
		}
	}
}

// Attack: a project's file that somebody accepted has a program run on the host, or reads
// a file of it.
func TestAttackAProjectsSecretRunsAProgram(t *testing.T) {
	for _, from := range []string{"cmd:touch /tmp/x", "file:~/.ssh/id_ed25519", "op://Private/bank/pin", "pass:bank", "keyring:chrome/me"} {
		project := &settings.Settings{Secrets: []settings.Secret{{Name: "DB_URL", From: from}}}
		_, err := New(Options{Layers: Layers{Project: project, TrustProject: true}}, Facts{Workspace: workspacetest.Folder(t)})
		if !errors.Is(err, workspace.ErrRefused) || !strings.Contains(diag.HintOf(err), "--secret 'DB_URL="+from+"'") {
			t.Errorf("%s: %v, hint %q", from, err, diag.HintOf(err))
		}
	}
}

// Attack: a variable of the caller's environment, as a project's .env sets it, turns
// Claude's endpoint, key or settings. A prefix passes none of them.
func TestAttackAPrefixPassesNothingThatSteers(t *testing.T) {
	harmless := []string{"CLAUDE_CODE_MAX_OUTPUT_TOKENS=8192", "CLAUDE_STAGE=test", "CLAUDE_CODE_DISABLE_TERMINAL_TITLE=1"}
	var environ []string
	for _, name := range []string{"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_SKIP_BEDROCK_AUTH", "CLAUDE_CONFIG_DIR",
		"CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_API_KEY_HELPER_TTL_MS", "CLAUDE_CODE_SHELL_PREFIX", "CLAUDE_CODE_SHELL", "CLAUDE_CODE_ENTRYPOINT",
		"CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_CLIENT_CERT", "CLAUDE_CODE_CLIENT_KEY", "CLAUDE_ENV_FILE",
		"CLAUDE_CODE_TMPDIR", "CLAUDE_PLUGIN_ROOT",
		"CLAUDE_CODE_REMOTE", "CLAUDE_CODE_HTTP_PROXY", "CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR",
		"CLAUDE_CODE_GIT_BASH_PATH", "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS",
		"ANTHROPIC_BEDROCK_BASE_URL"} {
		environ = append(environ, name+"=1")
	}
	for _, prefixes := range [][]string{nil, {"CLAUDE_", "ANTHROPIC_"}} {
		o := Options{Environment: Environment{Environ: append(slices.Clone(harmless), environ...)},
			Layers: Layers{User: settings.Settings{EnvPrefixes: prefixes}}}
		if p := plan(t, o, workspacetest.Folder(t)); !slices.Equal(p.variables, harmless) {
			t.Errorf("prefixes %q pass %q", prefixes, p.variables)
		}
	}
	for name, o := range map[string]Options{"none": {Layers: Layers{User: settings.Settings{EnvPrefixes: []string{}}}},
		"in the Action": {Layers: Layers{InputsNotFlags: true}}} {
		o.Environ = harmless
		if p := plan(t, o, workspacetest.Folder(t)); len(p.variables) > 0 || slices.Contains(p.Agent.Entrypoint, "--delivery") {
			t.Errorf("%s: %q", name, p.variables)
		}
	}
	short := Options{Environment: Environment{Environ: []string{"HOME=/root", "HOLIDAY=1"}},
		Layers: Layers{User: settings.Settings{EnvPrefixes: []string{"HO"}}}}
	if p := plan(t, short, workspacetest.Folder(t)); slices.Contains(p.Passed, "HOME") || !slices.Contains(p.Passed, "HOLIDAY") {
		t.Errorf("a prefix replaces a variable of the sandbox's: %q", p.Passed)
	}
	p := plan(t, Options{Environment: Environment{Variables: []string{"CLAUDE_CODE_SHELL=/bin/bash"}}}, workspacetest.Folder(t))
	if !slices.Equal(p.Passed, []string{"CLAUDE_CODE_SHELL"}) {
		t.Errorf("named, it is not passed: %q", p.Passed)
	}
	for given, layers := range map[string]Layers{"--env": {}, "input env": {InputsNotFlags: true}} {
		o := Options{Environment: Environment{Variables: []string{"ANTHROPIC_BASE_URL=http://evil"}}, Layers: layers}
		_, err := New(o, Facts{Workspace: workspacetest.Folder(t)})
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), given+": ANTHROPIC_BASE_URL ") ||
			!strings.HasPrefix(diag.HintOf(err), "remove it from "+given+";") {
			t.Errorf("a variable of the sandbox's is replaced: %v; %s", err, diag.HintOf(err))
		}
	}
}
