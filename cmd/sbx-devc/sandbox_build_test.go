package main

import (
	"context"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/sandbox"
)

// In a folder without a Dockerfile the default image is built, with Claude Code in it.
func TestSandboxBuildOfTheDefaultImage(t *testing.T) {
	e := enginetest.Connect(t)
	enginetest.Carried(t)
	code, id, errs := call(t, "sandbox", "build", t.TempDir(), "--tag", "sbx-matrix-default:built")
	if code != 0 || !strings.Contains(errs, "building the default image") {
		t.Fatalf("sandbox build: exit %d: %s", code, errs)
	}
	t.Cleanup(func() { _ = e.ImageRemove(context.WithoutCancel(t.Context()), "sbx-matrix-default:built") })
	if has, err := e.ImageHas(t.Context(), strings.TrimSpace(id), sandbox.DefaultClaudePath); err != nil || !has {
		t.Errorf("it has no claude: %v", err)
	}
}
