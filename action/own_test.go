package action

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/settings/trust"
)

// Attack: an earlier job leaves settings and trust in the home folder of a runner that
// is used again.
func TestAttackTheRunnersHomeOpensHosts(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	own, err := userdir.Find(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	name := filepath.Join(dir, ".devcontainer", "sandbox.jsonc")
	text := []byte(`{"network": {"allow": ["evil.example.com"]}}`)
	err = errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, text, 0o644), own.Make(),
		os.WriteFile(own.File("settings.jsonc"), text, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	file, err := settings.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	store, err := trust.Open(own, dir)
	if err != nil {
		t.Fatal(err)
	}
	project, err := trust.Project(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Accept(project, trust.Of(file), "trust"); err != nil {
		t.Fatal(err)
	}
	job := Job{ID: "test", Inputs: Inputs{SandboxInputs: SandboxInputs{WorkingDirectory: dir}, Prompt: "x"}, Progress: io.Discard}
	if _, _, err := planJob(job); !errors.Is(err, runplan.ErrWidens) {
		t.Errorf("with trust in the runner's home: %v, want a refusal", err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	_, plan, err := planJob(job)
	if err != nil || len(plan.Network.Allow) > 0 {
		t.Errorf("with settings in the runner's home: %v, %v", plan, err)
	}
}
