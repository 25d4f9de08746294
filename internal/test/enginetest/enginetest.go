// Package enginetest gives tests the real container engine.
//
//	scripts/setup -> engine -> Connect
//	scripts/build -> carried sbx-init -> Carried
//	podman, programs of this machine -> an engine of the test's own with SmallImage -> StartPodman
package enginetest

import (
	"testing"

	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// Connect returns a connection to the engine, which ends with the test. Without
// an engine the test is skipped, or fails in CI.
func Connect(t testing.TB) *engine.Engine {
	t.Helper()
	testenv.Slow(t)
	e, err := engine.Connect(t.Context())
	if err != nil {
		testenv.Missing(t, "a container engine", err.Error())
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// Carried ends the test, as Connect does, when it was compiled without
// scripts/build and so carries no sbx-init to put into containers.
func Carried(t testing.TB) {
	t.Helper()
	for _, arch := range []string{"amd64", "arm64"} {
		if _, err := carried.Packed(arch); err != nil {
			testenv.Missing(t, "the carried sbx-init", err.Error()+": run scripts/build first")
		}
	}
}
