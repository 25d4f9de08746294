package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/registrytest"
	"github.com/org/claude-sandbox/sandbox"
)

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
	if _, code := sbxOut(t, "image", "push", "--init-only", published); code != 0 {
		t.Fatal("the push failed")
	}
	asked.Store(0)
	plan := &sandbox.Plan{Sidecar: engine.Spec{Image: published}, Agent: engine.Spec{Image: published}}
	a := &app{stderr: t.Output(), getenv: func(string) string { return "" }}
	if err := a.defaultImage(t.Context(), e, plan, "--image"); err != nil {
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
	image := standIn(t, "noclaude")
	plan := &sandbox.Plan{Sidecar: engine.Spec{Image: image}, Agent: engine.Spec{Image: image}}
	var said strings.Builder
	a := &app{stderr: &said, getenv: func(string) string { return "" }}
	if err := a.defaultImage(t.Context(), e, plan, "--image"); err != nil || !strings.HasPrefix(plan.Agent.Image, "claude-sandbox-default:") {
		t.Fatalf("the run takes %s: %v", plan.Agent.Image, err)
	}
	if !strings.Contains(said.String(), "has no Claude Code") {
		t.Errorf("nothing was said: %s", &said)
	}
	plan.Sidecar.Image, plan.Agent.Image = image, image
	err := a.ensureImages(t.Context(), e, plan, "--image")
	if !errors.Is(err, sandbox.ErrNoStart) || !strings.Contains(err.Error(), "has no Claude Code at /usr/local/bin/claude") || diag.HintOf(err) == "" {
		t.Errorf("an image that is named: %v", err)
	}
	// In a folder without a Dockerfile the default image is built.
	code, id, errs := call(t, "sandbox", "build", t.TempDir(), "--tag", "sbx-matrix-default:built")
	if code != 0 || !strings.Contains(errs, "building the default image") {
		t.Fatalf("sandbox build: exit %d: %s", code, errs)
	}
	t.Cleanup(func() { _ = e.ImageRemove(context.WithoutCancel(t.Context()), "sbx-matrix-default:built") })
	if has, err := e.ImageHas(t.Context(), strings.TrimSpace(id), sandbox.DefaultClaudePath); err != nil || !has {
		t.Errorf("it has no claude: %v", err)
	}
}
