package session

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/registrytest"
	"github.com/org/claude-sandbox/sandbox"
)

func nothing(string) string { return "" }

func planWith(image string) *sandbox.Plan {
	return &sandbox.Plan{Sidecar: engine.Spec{Image: image}, Agent: engine.Spec{Image: image}}
}

// The published image holds no Claude Code, and a program that was built from
// source does not even know whose registry it would ask: without a name, a run
// takes what is built here.
func TestNobodysImageIsPulledUnasked(t *testing.T) {
	e := enginetest.Connect(t)
	enginetest.Carried(t)
	var asked atomic.Int64
	registry := registrytest.StartFaulty(t)
	registry.Set(func(http.ResponseWriter, *http.Request, http.Handler) bool { asked.Add(1); return false })
	published := registry.Addr + "/org/claude-sandbox:v1"
	ref, err := name.ParseReference(published, name.Insecure)
	if err == nil {
		err = remote.Write(ref, empty.Image)
	}
	if err != nil || asked.Load() == 0 {
		t.Fatalf("the push: %v, %d requests", err, asked.Load())
	}
	asked.Store(0)
	plan := planWith(published)
	if err := (Images{Engine: e, Getenv: nothing, Progress: t.Output(), Option: "--image"}).bringDefault(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	if asked.Load() > 0 || !strings.HasPrefix(plan.Agent.Image, "claude-sandbox-default:") || plan.Sidecar.Image != plan.Agent.Image {
		t.Errorf("%d requests to the registry; the run takes %s and %s", asked.Load(), plan.Agent.Image, plan.Sidecar.Image)
	}
}

// TestImageWithoutClaudeCode: the published image holds none. A run that names no
// image takes one that is built here instead, and one that names it ends before
// anything starts, with what to do.
func TestImageWithoutClaudeCode(t *testing.T) {
	e := enginetest.Connect(t)
	enginetest.Carried(t)
	const image = "sbx-session-noclaude:stand-in"
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte("FROM scratch\nCOPY Dockerfile /\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "docker", "build", "-q", "-t", image, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", "-f", image).Run() })
	var said strings.Builder
	images := Images{Engine: e, Getenv: nothing, Progress: &said, Option: "--image"}
	plan := planWith(image)
	if err := images.bringDefault(t.Context(), plan); err != nil || !strings.HasPrefix(plan.Agent.Image, "claude-sandbox-default:") {
		t.Fatalf("the run takes %s: %v", plan.Agent.Image, err)
	}
	if !strings.Contains(said.String(), "has no Claude Code") {
		t.Errorf("nothing was said: %s", &said)
	}
	err := images.Bring(t.Context(), planWith(image))
	if !errors.Is(err, sandbox.ErrNoStart) || !strings.Contains(err.Error(), "has no Claude Code at /usr/local/bin/claude") || diag.HintOf(err) == "" {
		t.Errorf("an image that is named: %v", err)
	}
}
