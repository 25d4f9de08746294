package main

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/enginetest"
	"github.com/org/claude-sandbox/internal/registrytest"
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
