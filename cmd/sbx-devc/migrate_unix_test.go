//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// migrate shows the difference and asks once: a no writes nothing, a yes writes it.
func TestMigrateAsksOnATerminal(t *testing.T) {
	testenv.Slow(t)
	program, err := exec.LookPath("sbx-devc")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	for name, text := range map[string]string{".claude/settings.json": `{"model": "opus"}`, "app/README": "x"} {
		file := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	written := filepath.Join(home, ".config", "sbx-devc", "settings.jsonc")
	command := fmt.Sprintf("cd %[1]s/app; HOME=%[1]s XDG_CONFIG_HOME= CLAUDE_CONFIG_DIR= CI= %[2]s migrate; echo exit=$?; cat", home, program)

	term := newTerminal(t, 120, 40, command)
	shown := term.expect("settings.jsonc? [Y/n]", "n", "Enter")
	if !strings.Contains(shown, `+  "model": "opus"`) && !strings.Contains(shown, `"model": "opus"`) {
		t.Errorf("asked without the difference:\n%s", shown)
	}
	term.expect("exit=77")
	if _, err := os.Stat(written); err == nil {
		t.Error("a no has written the settings")
	}
	term = newTerminal(t, 120, 40, command)
	term.expect("settings.jsonc? [Y/n]", "Enter")
	term.expect("exit=0")
	if text, err := os.ReadFile(written); err != nil || !strings.Contains(string(text), `"model": "opus"`) {
		t.Errorf("%s, %v", text, err)
	}
}

// Inside of a sandbox no engine answers, and that is as it must be.
func TestSandboxStatusInside(t *testing.T) {
	enginetest.Connect(t)
	docker := testenv.Program(t, "docker")
	program := builtProgram(t)
	status := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), docker, append(append([]string{"run", "--rm", "--network", "none", "-e", "HOME=/root",
			"-v", program + ":/sbx-devc:ro"}, args...), "debian:bookworm-slim", "/sbx-devc", "sandbox", "status")...)
		var out, said strings.Builder // not one: a note in the middle of a line is no fault
		cmd.Stdout, cmd.Stderr = &out, &said
		err := cmd.Run()
		return out.String() + said.String(), err
	}
	if out, err := status("--tmpfs", "/run/sbx"); err != nil ||
		!strings.Contains(out, "inside one   yes: 'sbx-init status' tells of its firewall") ||
		!strings.Contains(out, "engine       none answers") {
		t.Errorf("inside: %v\n%s", err, out)
	}
	if out, err := status(); err == nil || !strings.Contains(out, "inside one   no") || !strings.Contains(out, "hint: ") {
		t.Errorf("in another container: %v\n%s", err, out)
	}
}
