package main

import (
	"context"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// In a folder without a Dockerfile the image is built that a run takes by default.
// It has no Claude Code, which a run brings along.
func TestSandboxBuildOfTheDefaultImage(t *testing.T) {
	e := enginetest.Connect(t)
	enginetest.Carried(t)
	code, id, errs := call(t, "sandbox", "build", t.TempDir(), "--tag", "sbx-matrix-default:built")
	if code != 0 || !strings.Contains(errs, "building the image that a run takes by default") {
		t.Fatalf("sandbox build: exit %d: %s", code, errs)
	}
	t.Cleanup(func() { _ = e.ImageRemove(context.WithoutCancel(t.Context()), "sbx-matrix-default:built") })
	files, err := e.ImageFiles(t.Context(), strings.TrimSpace(id), "/usr/local/bin/node", "/usr/bin/gcc", runplan.DefaultClaudePath)
	if err != nil || files["/usr/local/bin/node"] == 0 || files["/usr/bin/gcc"] == 0 || files[runplan.DefaultClaudePath] != 0 {
		t.Errorf("it has %v: %v", files, err)
	}
}
