package sandbox

import (
	"errors"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/workspacetest"
	"github.com/org/claude-sandbox/settings"
)

// A limit that the engine would not obey is an error where somebody chose it, and else
// it is left out and said.
func TestLimitsThatTheEngineDoesNotObey(t *testing.T) {
	d := engine.Description{Lacks: []string{"memory", "cpus", "pids"}}
	p := plan(t, Options{}, workspacetest.Folder(t))
	if err := errors.Join(p.fitLimits(d), p.fitLimits(d)); err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(p.Warnings, "\n"); p.Agent.Limits != (engine.Limits{}) || p.Sidecar.Limits != (engine.Limits{}) ||
		strings.Count(said, "cannot limit memory, cpus, pids") != 1 {
		t.Errorf("%+v, %+v, said %q", p.Agent.Limits, p.Sidecar.Limits, p.Warnings)
	}
	for _, chosen := range []settings.Limits{{Memory: 1 << 30}, {CPUs: 1}, {PIDs: 100}} {
		for _, o := range []Options{{User: settings.Settings{Limits: chosen}}, {Project: &settings.Settings{Limits: chosen}}} {
			err := plan(t, o, workspacetest.Folder(t)).fitLimits(d)
			if !errors.Is(err, ErrConfig) || diag.HintOf(err) == "" {
				t.Errorf("%+v: %v", chosen, err)
			}
		}
	}
}
