package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/testenv"
)

// terminal is a program on a real terminal of 100 columns.
type terminal struct {
	t      *testing.T
	tmux   string
	socket string
}

func newTerminal(t *testing.T, command string) *terminal {
	t.Helper()
	tt := &terminal{t: t, tmux: testenv.Program(t, "tmux"), socket: filepath.Join(t.TempDir(), "tmux")}
	tt.run("new-session", "-d", "-x", "100", "-y", "40", command)
	t.Cleanup(func() { exec.Command(tt.tmux, "-S", tt.socket, "kill-server").Run() }) //nolint:errcheck // it may have ended
	return tt
}

func (tt *terminal) run(args ...string) string {
	tt.t.Helper()
	cmd := exec.Command(tt.tmux, append([]string{"-S", tt.socket, "-f", "/dev/null"}, args...)...)
	cmd.Env = append(os.Environ(), "TERM=xterm", "CI=", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		tt.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

// expect waits for text on the screen and then presses keys.
func (tt *terminal) expect(text string, keys ...string) {
	tt.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		screen := tt.run("capture-pane", "-p")
		if strings.Contains(screen, text) {
			break
		}
		if time.Now().After(deadline) {
			tt.t.Fatalf("the screen does not show %q:\n%s", text, screen)
		}
	}
	for _, key := range keys {
		tt.run("send-keys", key)
	}
}

// TestInitAsks goes through init's questions: a host that the repository names
// is allowed when somebody checks it, and not by going on.
func TestInitAsks(t *testing.T) {
	for _, tt := range []struct {
		name  string
		hosts []string // keys at the question about hosts
		want  string
	}{
		{"GoingOnAllowsNoHost", []string{"Enter"}, `"allow": [],`},
		{"CheckingAllowsTheHost", []string{"Space", "Enter"}, `"allow": ["npm.corp.example"],`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			testenv.Slow(t)
			dir := t.TempDir()
			for name, text := range map[string]string{"package.json": "{}", ".npmrc": "registry=https://npm.corp.example/\n"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			program, err := exec.LookPath("sbx-devc")
			if err != nil {
				t.Fatal(err)
			}
			term := newTerminal(t, fmt.Sprintf("CI= %s init %s; echo exit=$?; cat", program, dir))
			term.expect("Template", "Enter")
			term.expect("Presets to add", "Enter")
			term.expect("allow which", tt.hosts...)
			term.expect("GitHub workflow", "Enter")
			term.expect("Write the dev container", "Enter")
			term.expect("exit=0")
			text, err := os.ReadFile(filepath.Join(dir, ".devcontainer", "sandbox.jsonc"))
			if err != nil || !strings.Contains(string(text), tt.want) {
				t.Errorf("%v: want %s in\n%s", err, tt.want, text)
			}
			if _, err := os.Stat(filepath.Join(dir, ".github")); err == nil {
				t.Error("a workflow was written unasked")
			}
			dockerfile, err := os.ReadFile(filepath.Join(dir, ".devcontainer", "Dockerfile"))
			if err != nil || !strings.Contains(string(dockerfile), "FROM node:22") {
				t.Errorf("the proposed template was not taken: %v", err)
			}
		})
	}
}
