package images

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/session/recipe"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/lock"
)

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		what     string
		files    map[string]string
		accepted bool
		name     string // begins with it
		why      []string
	}{
		{"nothing", nil, true, release.Image(), []string{"the default one"}},
		{"a language", map[string]string{"go.mod": "module x\n"}, true, "claude-sandbox-claude-go:",
			[]string{"template claude-go", "because of go.mod"}},
		{"an image", map[string]string{"go.mod": "module x\n", ".devcontainer/devcontainer.json": `{"image":"a:1"}`}, true, "a:1",
			[]string{"project's dev container, .devcontainer/devcontainer.json"}},
		{"a Dockerfile",
			map[string]string{".devcontainer/devcontainer.json": `{"build":{"dockerfile":"Dockerfile"}}`,
				".devcontainer/Dockerfile": "FROM a\n"}, true,
			"sbx-devc-project-", []string{"built from .devcontainer/Dockerfile"}},
		{"Features", map[string]string{".devcontainer/devcontainer.json": `{"image":"a:1","features":{"ghcr.io/x/y:1":{}}}`},
			true, "sbx-devc-project-",
			[]string{".devcontainer/devcontainer.json, with its Features ghcr.io/x/y:1"}},
		{"Features that nobody accepted", map[string]string{".devcontainer/devcontainer.json": `{"image":"a:1","features":{"ghcr.io/x/y:1":{}}}`},
			false, release.Image(),
			[]string{"because nobody has accepted it"}},
		{"a Feature of another form", map[string]string{".devcontainer/devcontainer.json": `{"image":"a:1","features":{"x":{}}}`}, true,
			release.Image(),
			[]string{"the default one", "its Feature x does not come from a registry"}},
		{"Claude Code's Feature",
			map[string]string{
				".devcontainer/devcontainer.json": `{"image":"a:1","features":{"ghcr.io/anthropics/devcontainer-features/claude-code:1":{}}}`}, true,
			"a:1", []string{"left out: the Feature ghcr.io/anthropics/devcontainer-features/claude-code:1"}},
		{"a Compose service", map[string]string{".devcontainer/devcontainer.json": `{"dockerComposeFile":"c.yml","service":"app"}`,
			".devcontainer/c.yml": "services: {app: {image: a:1}, db: {image: b}}"}, true, "a:1",
			[]string{"left out: of its Compose file the other services (db)"}},
		// Attack: a project that nobody has accepted chooses no image.
		{"an image that nobody accepted", map[string]string{"go.mod": "module x\n", ".devcontainer/devcontainer.json": `{"image":"a:1"}`}, false,
			"claude-sandbox-claude-go:", []string{"because nobody has accepted it"}},
		{"a Dockerfile that nobody accepted",
			map[string]string{".devcontainer/devcontainer.json": `{"build":{"dockerfile":"Dockerfile"}}`, ".devcontainer/Dockerfile": "FROM a\n"},
			false, release.Image(), []string{"because nobody has accepted it"}},
	} {
		dir := t.TempDir()
		for name, text := range c.files {
			name = filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		notAccepted := "nobody has accepted it"
		if c.accepted {
			notAccepted = ""
		}
		got, err := Choose(dir, recipe.Read(dir), notAccepted)
		if err != nil || !strings.HasPrefix(got.Name, c.name) {
			t.Errorf("%s: got %s, want %s: %v", c.what, got.Name, c.name, err)
		}
		for _, want := range c.why {
			if !strings.Contains(got.Why, want) {
				t.Errorf("%s: %q does not say %q", c.what, got.Why, want)
			}
		}
		if !c.accepted && got.recipe != nil {
			t.Errorf("%s: the run would take the project's own image", c.what)
		}
	}
}

// A run builds of each template what it needs: neither Claude Code nor the firewall,
// and nothing of a context.
func TestTemplatesWithoutWhatARunBringsAlong(t *testing.T) {
	for _, id := range templates.IDs() {
		if id == "claude-strict" { // is never chosen for a project
			continue
		}
		text, err := templateDockerfile(lock.Input{Template: id})
		if err != nil {
			t.Error(err)
			continue
		}
		for _, never := range []string{"claude-code", "sbx-init", "sandbox.jsonc", "COPY --from=claude"} {
			if strings.Contains(string(text), never) {
				t.Errorf("%s: has %q:\n%s", id, never, text)
			}
		}
		if !strings.Contains(string(text), "useradd") {
			t.Errorf("%s: too much is gone:\n%s", id, text)
		}
	}
}
