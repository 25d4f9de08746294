package session

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// project makes a folder with a settings file.
func project(t *testing.T, text string) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, ".devcontainer", "sandbox.jsonc")
	if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	return dir, file
}

func TestPlanByTheProjectsFile(t *testing.T) {
	dir, _ := project(t, `{"network": {"deny": ["no.example"]}, "limits": {"pids": 64}, "workspace": {"protect": ["deploy"]}}`)
	plan, err := planOf(dir, runplan.Options{ID: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Agent.Pids != 64 || len(plan.Network.Deny) != 1 {
		t.Errorf("pids %d, network %+v", plan.Agent.Pids, plan.Network)
	}
	for text, code := range map[string]int{`{"network": {"allow": ["evil.example"]}}`: exitcode.Refused,
		`{"nothing": 1, "network": {"allow": ["*"]}}`: exitcode.Config} {
		dir, file := project(t, text)
		_, err := planOf(dir, runplan.Options{ID: "test"})
		if got, _ := exitcode.Of(err, 0); got != code || diag.HintOf(err) == "" {
			t.Errorf("%s: exit code %d, want %d: %v", text, got, code, err)
		}
		var wrong *SettingsError
		if errors.As(err, &wrong) != (code == exitcode.Config) || wrong != nil && (len(wrong.Findings) != 2 || wrong.File != file) {
			t.Errorf("%s: %+v", text, wrong)
		}
	}
}

// Attack: the project's file, or its folder, is a link to a file that widens or that
// is somebody else's.
func TestAttackTheProjectsSettingsAreALink(t *testing.T) {
	other, file := project(t, `{}`)
	for what, link := range map[string]func(dir string) error{
		"the file": func(dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, ".devcontainer"), 0o755),
				os.Symlink(file, filepath.Join(dir, ".devcontainer", "sandbox.jsonc")))
		},
		"the folder": func(dir string) error {
			return os.Symlink(filepath.Join(other, ".devcontainer"), filepath.Join(dir, ".devcontainer"))
		},
	} {
		dir := t.TempDir()
		if err := link(dir); err != nil {
			t.Fatal(err)
		}
		_, err := planOf(dir, runplan.Options{ID: "test"})
		if code, _ := exitcode.Of(err, 0); code != exitcode.Refused || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("%s: exit code %d: %v", what, code, err)
		}
	}
}

// Attack: the options of a firewall Feature open hosts in a run of a project that its user
// has not accepted, or with other options than those that he accepted.
func TestAttackTheOptionsOfAFirewallFeature(t *testing.T) {
	config := func(allow string) string {
		return `{"image": "debian", "features": {"./firewall": {"presets": "npm", "allow": "` + allow +
			`", "private": "db.example", "deny": "no.example"}}}`
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, ".devcontainer", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("firewall/devcontainer-feature.json", `{"id": "firewall", "entrypoint": "/usr/local/share/sbx/entrypoint.sh"}`)
	write("devcontainer.json", config("docs.example"))
	plan, err := planOf(dir, runplan.Options{ID: "test"})
	if err != nil {
		t.Fatalf("not accepted: %v", err)
	}
	if slices.Contains(plan.Network.Allow, "docs.example") || slices.Contains(plan.Network.Presets, "npm") {
		t.Errorf("not accepted: %+v", plan.Network)
	}
	plan, err = planOf(dir, runplan.Options{ID: "test", Layers: runplan.Layers{TrustProject: true}})
	if err != nil {
		t.Fatalf("accepted: %v", err)
	}
	if !slices.Contains(plan.Network.Allow, "docs.example") || !slices.Contains(plan.Network.Presets, "npm") ||
		!slices.Contains(plan.Network.Deny, "no.example") || !slices.Contains(plan.Network.Private, "db.example") {
		t.Errorf("accepted: %+v", plan.Network)
	}
	none := runplan.Options{ID: "test", Layers: runplan.Layers{TrustProject: true}}
	none.User.Network.Mode = firewall.ModeNone
	if plan, err = planOf(dir, none); err != nil || plan.Network.Mode != firewall.ModeNone {
		t.Fatalf("with --network none: %+v, %v", plan, err)
	}
	accepted, err := ReadProject(dir)
	if err != nil {
		t.Fatal(err)
	}
	write("devcontainer.json", config("evil.example"))
	if now, err := ReadProject(dir); err != nil || now.Content().Digest() == accepted.Content().Digest() {
		t.Errorf("other options are accepted too: %v", err)
	}
}

// A gateway counts as for Claude Code, and its token goes nowhere else.
func TestAGatewayByTheVariablesOfClaudeCode(t *testing.T) {
	const gateway, token, key = "https://gw.example", "gateway-token", "sk-ant-api03-0123456789"
	for name, c := range map[string]struct {
		env  map[string]string
		want string // the address, and the secret that goes there; "" = an error
	}{
		"its token": {map[string]string{"ANTHROPIC_BASE_URL": gateway, "ANTHROPIC_AUTH_TOKEN": token}, gateway + " " + token},
		"its token before a key": {map[string]string{"ANTHROPIC_BASE_URL": gateway, "ANTHROPIC_AUTH_TOKEN": token, "ANTHROPIC_API_KEY": key},
			gateway + " " + token},
		"a key":      {map[string]string{"ANTHROPIC_BASE_URL": gateway, "ANTHROPIC_API_KEY": key}, gateway + " " + key},
		"no address": {map[string]string{"ANTHROPIC_AUTH_TOKEN": token}, ""},
		"no address, and a key": {map[string]string{"ANTHROPIC_AUTH_TOKEN": token, "ANTHROPIC_API_KEY": key},
			credproxy.DefaultUpstream + " " + key},
		"another address": {map[string]string{"ANTHROPIC_BASE_URL": gateway, "SBX_DEVC_UPSTREAM": "https://b.example",
			"ANTHROPIC_AUTH_TOKEN": token}, ""},
		"another, and a key": {map[string]string{"ANTHROPIC_BASE_URL": gateway, "SBX_DEVC_UPSTREAM": "https://b.example",
			"ANTHROPIC_AUTH_TOKEN": token, "ANTHROPIC_API_KEY": key}, "https://b.example " + key},
		"a cloud that is without": {map[string]string{"ANTHROPIC_BASE_URL": gateway, "ANTHROPIC_AUTH_TOKEN": token,
			"CLAUDE_CODE_USE_BEDROCK": "1"}, ""},
		"in the clear": {map[string]string{"ANTHROPIC_BASE_URL": "http://gw.example", "ANTHROPIC_AUTH_TOKEN": token}, ""},
	} {
		upstream, credential, err := ModelAPI(func(name string) string { return c.env[name] })
		got := ""
		if err == nil {
			for _, secret := range []string{token, key} {
				if credential.Redactor().String(secret) != secret {
					got += upstream.String() + " " + secret
				}
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q: %v", name, got, c.want, err)
		}
	}
}

func TestModelAPI(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		code int
	}{
		"a key":              {map[string]string{"ANTHROPIC_API_KEY": "sk-ant-api03-x"}, 0},
		"a token":            {map[string]string{"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-x"}, 0},
		"nothing":            {nil, exitcode.NoSecret},
		"a key in two lines": {map[string]string{"ANTHROPIC_API_KEY": "sk-ant\napi"}, exitcode.NoSecret},
		"no URL":             {map[string]string{"ANTHROPIC_API_KEY": "sk-ant-api03-x", "SBX_DEVC_UPSTREAM": "api"}, exitcode.Config},
		"in the clear, afar": {map[string]string{"ANTHROPIC_API_KEY": "sk-ant-api03-x", "SBX_DEVC_UPSTREAM": "http://api.example"},
			exitcode.Config},
		"in the clear, there": {map[string]string{"ANTHROPIC_API_KEY": "sk-ant-api03-x", "SBX_DEVC_UPSTREAM": "http://127.0.0.1:1"}, 0},
	} {
		upstream, _, err := ModelAPI(func(name string) string { return c.env[name] })
		if code, _ := exitcode.Of(err, -1); code != c.code || (err == nil) != (upstream != nil) {
			t.Errorf("%s: exit code %d, want %d: %v", name, code, c.code, err)
		}
		if err != nil && strings.Contains(err.Error(), "sk-ant") {
			t.Errorf("%s: the key is in the error: %v", name, err)
		}
	}
}

func TestPrompts(t *testing.T) {
	if text, err := ReadPrompt(strings.NewReader("fix it\n")); text != "fix it\n" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := ReadPrompt(strings.NewReader(" \n\t")); !errors.Is(err, ErrEmptyPrompt) {
		t.Errorf("an empty one: %v", err)
	}
	if text, err := ReadPrompt(strings.NewReader(strings.Repeat("x", maxPrompt))); len(text) != maxPrompt || err != nil {
		t.Errorf("the largest: %d, %v", len(text), err)
	}
	if _, err := ReadPrompt(strings.NewReader(strings.Repeat("x", maxPrompt+1))); err == nil || diag.HintOf(err) == "" {
		t.Errorf("a larger one: %v", err)
	}
}

func planOf(dir string, o runplan.Options) (*runplan.Plan, error) {
	p, err := ReadProject(dir)
	if err != nil {
		return nil, err
	}
	s, err := p.Effective(o)
	if err != nil {
		return nil, err
	}
	return p.Plan(o, s)
}
