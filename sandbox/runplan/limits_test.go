package runplan

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
		for _, o := range []Options{{Layers: Layers{User: settings.Settings{Limits: chosen}}},
			{Layers: Layers{Project: &settings.Settings{Limits: chosen}}}} {
			err := plan(t, o, workspacetest.Folder(t)).fitLimits(d)
			if !errors.Is(err, ErrConfig) || diag.HintOf(err) == "" {
				t.Errorf("%+v: %v", chosen, err)
			}
		}
	}
}

// Attack: the agent takes all of the host's memory, by programs or by files in
// memory.
func TestMemoryHasALimitThatNobodyChose(t *testing.T) {
	p := plan(t, Options{}, workspacetest.Folder(t))
	if p.Agent.MemoryBytes != 4<<30 || p.Agent.CPUs != 2 {
		t.Errorf("the limit is %d bytes", p.Agent.MemoryBytes)
	}
	for dir, options := range p.Agent.Tmpfs {
		if !strings.Contains(options, "size=") {
			t.Errorf("%s has no size: %s", dir, options)
		}
	}
	p = plan(t, Options{Layers: Layers{User: settings.Settings{Limits: settings.Limits{Memory: 64 << 30}}}}, workspacetest.Folder(t))
	if p.Agent.MemoryBytes != 64<<30 || p.open.memory {
		t.Errorf("the user's own limit became %d bytes", p.Agent.MemoryBytes)
	}
}

func TestClaudeIsNeverTakenFromWhereTheAgentWrites(t *testing.T) {
	for _, name := range []string{"claude", "./claude", "/workspace/bin/claude", "/usr/../workspace/claude", "/home/agent/claude",
		"/tmp/claude", "/proc/self/cwd/claude"} {
		if _, err := New(Options{Claude: Claude{ClaudePath: name}}, Facts{Workspace: workspacetest.Folder(t)}); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: got %v, want ErrConfig", name, err)
		}
	}
	if p := plan(t, Options{Claude: Claude{ClaudePath: "/opt/claude/claude"}},
		workspacetest.Folder(t)); p.Agent.Entrypoint[5] != "/opt/claude/claude" {
		t.Errorf("%q", p.Agent.Entrypoint)
	}
}

// A limit above what the engine's machine has is lowered, and said where somebody chose it;
// one that no container works with ends the run before anything starts.
func TestLimitsThatTheEnginesMachineDoesNotHave(t *testing.T) {
	d := engine.Description{Memory: 8 << 30, CPUs: 2}
	for _, c := range []struct {
		chosen, want settings.Limits
		said         string
	}{
		{settings.Limits{}, settings.Limits{Memory: 4 << 30, CPUs: 2}, ""},
		{settings.Limits{Memory: 8 << 30, CPUs: 1.5}, settings.Limits{Memory: 8 << 30, CPUs: 1.5}, ""},
		{settings.Limits{Memory: 900 << 30, CPUs: 2}, settings.Limits{Memory: 8 << 30, CPUs: 2},
			"has 8192 MiB, which is the run's limit: limits.memory"},
		{settings.Limits{CPUs: 99}, settings.Limits{Memory: 4 << 30, CPUs: 2}, "has 2, which is the run's limit: limits.cpus (--cpus)"},
	} {
		p := plan(t, Options{Layers: Layers{User: settings.Settings{Limits: c.chosen}}}, workspacetest.Folder(t))
		before := len(p.Warnings)
		if err := p.fitLimits(d); err != nil {
			t.Fatal(err)
		}
		said := strings.Join(p.Warnings[before:], "\n")
		if p.Agent.MemoryBytes != c.want.Memory || p.Agent.CPUs != c.want.CPUs || (said == "") != (c.said == "") ||
			!strings.Contains(said, c.said) {
			t.Errorf("%+v: %+v, said %q", c.chosen, p.Agent.Limits, said)
		}
	}
	chosen := Layers{User: settings.Settings{Limits: settings.Limits{CPUs: 99}}, InputsNotFlags: true}
	p := plan(t, Options{Layers: chosen}, workspacetest.Folder(t))
	if err := p.fitLimits(d); err != nil || !strings.Contains(strings.Join(p.Warnings, "\n"), "limits.cpus (the input cpus) asks for more") {
		t.Errorf("in the Action: %q, %v", p.Warnings, err)
	}
	for _, l := range []settings.Limits{{CPUs: 0.0001}, {PIDs: 9999999999}, {Disk: 1 << 10}, {PIDs: 1}, {Memory: 1 << 10}} {
		_, err := New(Options{ID: "test", Layers: Layers{User: settings.Settings{Limits: l}}}, Facts{Workspace: workspacetest.Folder(t)})
		if !errors.Is(err, ErrConfig) || diag.HintOf(err) == "" {
			t.Errorf("%+v: %v", l, err)
		}
	}
}
