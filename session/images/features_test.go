package images

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/org/claude-sandbox/internal/test/registrytest"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/session/recipe"
)

// The project's Features: one is local and waits for the other, which lies in a
// registry. Each says what it was told.
const featureProject = `-- .devcontainer/devcontainer.json --
{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "dev", "features": {
  "./late": {"word": "it's mine", "two words": "x"},
  "REGISTRY/features/early:1": "2.5"
}}
-- .devcontainer/Dockerfile --
FROM debian:bookworm-slim
RUN useradd -m dev
USER dev
-- .devcontainer/late/devcontainer-feature.json --
{"id": "late", "version": "1.0.0", "name": "late", "installsAfter": ["REGISTRY/features/early"], "containerEnv": ` +
	`{"LATE": "/late:${EARLY}\""},
 "options": {"word": {"type": "string", "default": "no"}, "flag": {"type": "boolean", "default": true}}}
-- .devcontainer/late/install.sh --
. ./lib/tell.sh
-- .devcontainer/late/lib/tell.sh --
{ echo "late as $(id -un)"; env | grep -E '^(_REMOTE|_CONTAINER|WORD|FLAG|TWO|VERSION|EARLY|LATE)' | sort; } >>/told
-- src/early/devcontainer-feature.json --
{"id": "early", "version": "1.2.3", "name": "early", "containerEnv": {"EARLY": "yes"}, "options": {"version": ` +
	`{"type": "string", "default": "1"}}}
-- src/early/install.sh --
#!/bin/sh
{ echo "early as $(id -un)"; env | grep -E '^(_REMOTE|_CONTAINER|WORD|FLAG|TWO|VERSION|EARLY|LATE)' | sort; } >>/told
`

// A run installs Features as the official CLI does: in the same order, with the same
// options and users, and leaves the same variables and user behind. The image is built
// once.
func TestFeaturesAreInstalledAsTheOfficialCLIDoes(t *testing.T) {
	testenv.Slow(t)
	var said bytes.Buffer
	i := bringer(t, &said)
	i.Cache = t.TempDir()
	dir, registry := t.TempDir(), strings.Replace(registrytest.Start(t), "127.0.0.1", "localhost", 1)
	for _, f := range txtar.Parse([]byte(strings.ReplaceAll(featureProject, "REGISTRY", registry))).Files {
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	official := func(args ...string) string {
		t.Helper()
		cmd := testenv.Devcontainer(t, args...)
		cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	official("features", "publish", filepath.Join(dir, "src"), "--registry", registry, "--namespace", "features")
	official("build", "--workspace-folder", dir, "--image-name", "sbx-images-official")
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", "-f", "sbx-images-official").Run() })

	r := recipe.Read(dir)
	var err error
	if i.Choice, err = Choose(dir, r, ""); err != nil {
		t.Fatal(err)
	}
	id, _, err := i.bringChoice(t.Context())
	if err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", "-f", i.Choice.Name).Run() })
	look := func(image string) string {
		t.Helper()
		out, err := exec.Command("docker", "run", "--rm", "--network", "none", image, "sh", "-c",
			`cat /told; echo "$LATE as $(id -un)"; ls /tmp`).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		return strings.ReplaceAll(string(out), "dev-container-features\n", "")
	}
	want := look("sbx-images-official")
	if got := look(id); got != want || !strings.Contains(got, "FLAG=true") {
		t.Errorf("a run's image has\n%s\nthe official CLI's has\n%s", got, want)
	}
	said.Reset()
	if again, _, err := i.bringChoice(t.Context()); err != nil || again != id || said.Len() > 0 {
		t.Errorf("it is built again: %v %s", err, &said)
	}

	// The lock decides which version is installed, whatever a tag means by then.
	text, err := json.Marshal(map[string]any{"features": map[string]any{registry + "/features/early:1": map[string]string{
		"version": "1.2.3", "resolved": registry + "/features/early@sha256:" + strings.Repeat("0", 64)}}})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ".devcontainer", "devcontainer-lock.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if i.Choice, err = Choose(dir, recipe.Read(dir), ""); err != nil {
		t.Fatal(err)
	}
	if _, _, err = i.bringChoice(t.Context()); err == nil || !strings.Contains(err.Error(), strings.Repeat("0", 64)) {
		t.Errorf("another version than the locked one is installed: %v", err)
	}
}
