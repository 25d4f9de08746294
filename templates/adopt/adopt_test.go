package adopt

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/detect"
	"github.com/org/claude-sandbox/templates/lock"
	"github.com/org/claude-sandbox/templates/scaffold"
)

const foreign = `{
  // mine
  "image": "debian:13",
  "remoteUser": "dev"
}
`

// project is a folder with these files.
func project(t *testing.T, files map[string]string) scaffold.Folder {
	t.Helper()
	dir := scaffold.Folder(t.TempDir())
	for name, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(dir.Path(name)), 0o755), os.WriteFile(dir.Path(name), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestConfigThatCanBeExtended(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		code  int // exit code; 0 = none
		hint  string
	}{
		{"Foreign", map[string]string{scaffold.ConfigPath: foreign}, 0, ""},
		{"None", nil, exitcode.NoInput, "'sbx-devc init' writes one"},
		{"Plain", map[string]string{".devcontainer.json": foreign}, exitcode.Refused, "move .devcontainer.json"},
		{"Named", map[string]string{".devcontainer/api/devcontainer.json": foreign}, exitcode.Refused, "with the files that it names"},
		{"Ours", map[string]string{scaffold.ConfigPath: foreign, ".devcontainer/sandbox.lock": "{}"}, exitcode.Refused, "'sbx-devc update'"},
	} {
		config, err := Config(project(t, tt.files))
		code, _ := exitcode.Of(err, exitcode.Internal)
		if code != tt.code || code == 0 && string(config) != foreign || !strings.Contains(diag.HintOf(err), tt.hint) {
			t.Errorf("%s: %q, %v, hint %q", tt.name, config, err, diag.HintOf(err))
		}
	}
}

func TestExtensionKeepsTheUsersLinesAndSettles(t *testing.T) {
	enginetest.Carried(t)
	dir := project(t, map[string]string{scaffold.ConfigPath: foreign})
	x, err := Plan(dir, []byte(foreign), lock.Input{Presets: []string{"anthropic"}, Allow: []string{"docs.example.com"}})
	if err != nil || len(x.Refused) > 0 || x.Service != nil {
		t.Fatal(err, x)
	}
	if slices.ContainsFunc(x.Files[1:], func(f templates.File) bool { return !OwnFeature(f) }) || OwnFeature(x.Files[0]) {
		t.Error("the files are not the configuration and the Feature")
	}
	if _, err := x.Write(); err != nil {
		t.Fatal(err)
	}
	config := string(dir.Read(scaffold.ConfigPath))
	for _, want := range []string{"// mine", `"remoteUser": "dev"`, templates.LocalFeature, "docs.example.com"} {
		if !strings.Contains(config, want) {
			t.Errorf("%q is not in\n%s", want, config)
		}
	}
	if x, err = Plan(dir, []byte(config), lock.Input{}); err != nil || len(x.Changed) > 0 {
		t.Errorf("a second time changes %d files, %v", len(x.Changed), err)
	}
	policy, err := Policy(dir)
	if err != nil || policy == nil {
		t.Fatal(policy, err)
	}
	list, err := Features(dir)
	if err != nil || len(list) != 1 || !list[0].Local || !list[0].Current {
		t.Errorf("%+v, %v", list, err)
	}
	script := dir.Path(templates.LocalFeatureFolder + "/install.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if list, err := Features(dir); err != nil || list[0].Current {
		t.Errorf("a changed script: %+v, %v", list, err)
	}
}

// A dev container that would give the agent the host is refused, whatever else
// is right with it.
func TestExtensionThatOpensTheHostIsRefused(t *testing.T) {
	enginetest.Carried(t)
	for name, config := range map[string]string{
		"EngineSocket": `{"image": "debian:13", "remoteUser": "dev", "mounts": ` +
			`["type=bind,source=/var/run/docker.sock,target=/var/run/docker.sock"]}`,
		"Privileged": `{"image": "debian:13", "remoteUser": "dev", "privileged": true}`,
	} {
		dir := project(t, map[string]string{scaffold.ConfigPath: config})
		x, err := Plan(dir, []byte(config), lock.Input{})
		if err == nil && len(x.Refused) == 0 || err != nil && !isRefused(err) {
			t.Errorf("%s: %v, %+v", name, err, x)
		}
	}
}

func TestFolderOfAnotherFeatureIsLeftAlone(t *testing.T) {
	theirs := templates.LocalFeatureFolder + "/devcontainer-feature.json"
	dir := project(t, map[string]string{scaffold.ConfigPath: foreign, theirs: `{"id": "firewall", "entrypoint": "/theirs.sh"}`})
	if _, err := Plan(dir, []byte(foreign), lock.Input{}); !isRefused(err) {
		t.Error(err)
	}
}

func TestHostsThatAreOpenAnywayAreNotProposed(t *testing.T) {
	hosts := []detect.Proposal{{Value: "api.anthropic.com"}, {Value: "a.example"}, {Value: "b.example:8443"}, {Value: "b.example"}}
	left, err := NewHosts(hosts, []string{"anthropic"}, []string{"a.example", "b.example:8443"})
	if err != nil || len(left) != 1 || left[0].Value != "b.example" {
		t.Errorf("%v, %v", left, err)
	}
	if _, err := NewHosts(hosts, []string{"nosuch"}, nil); err == nil {
		t.Error("an unknown preset is a policy")
	}
}

func TestPresets(t *testing.T) {
	got, err := Presets([]string{"npm", "vscode"})
	if want := []string{"anthropic", "github", "vscode", "npm"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

func isRefused(err error) bool {
	code, _ := exitcode.Of(err, exitcode.Internal)
	return code == exitcode.Refused
}

// An error about a container next to the dev container, which the firewall leaves as it is, is said and stops nothing.
// One about the dev container does.
func TestExtensionNextToADatabaseThatEnds(t *testing.T) {
	const config = `{"dockerComposeFile": "compose.yaml", "service": "app", "workspaceFolder": "/workspace"}`
	const app = "services:\n  app:\n    image: debian:13\n    command: sleep infinity\n    user: \"1000\"\n    volumes: [\"..:/workspace\"]\n"
	for _, tt := range []struct{ name, more, refused string }{
		{"Database", "  db:\n    image: postgres:16\n", ""},
		{"EngineAsWell", "    privileged: true\n  db:\n    image: postgres:16\n", "SBX402"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := project(t, map[string]string{scaffold.ConfigPath: config, ".devcontainer/compose.yaml": app + tt.more})
			x, err := Plan(dir, []byte(config), lock.Input{Presets: []string{"anthropic"}})
			if err != nil {
				t.Fatal(err)
			}
			rules := ""
			for _, f := range x.Refused {
				rules += f.Rule
			}
			if rules != tt.refused {
				t.Errorf("refused for %q, want %q: %v", rules, tt.refused, x.Refused)
			}
			if !slices.ContainsFunc(x.Notes, func(n string) bool { return strings.Contains(n, "the service db ends at once [SBX331]") }) {
				t.Errorf("nothing is said of the database: %q", x.Notes)
			}
		})
	}
}
