//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Attack: a project has a pipe, a device without an end or a terabyte of holes in the place
// of a file that commands read: they wait for ever, or take all of the machine's memory.
func TestAttackAFileWithoutAnEnd(t *testing.T) {
	kinds := map[string]func(name string) error{
		"a pipe":     func(name string) error { return syscall.Mkfifo(name, 0o644) },
		"/dev/zero":  func(name string) error { return os.Symlink("/dev/zero", name) },
		"a terabyte": func(name string) error { return errors.Join(os.WriteFile(name, nil, 0o644), os.Truncate(name, 1<<40)) },
	}
	program := builtProgram(t)
	for kind, put := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for file, commands := range map[string]string{
				".devcontainer/devcontainer.json": "validate; drift; update --dry-run; init --yes --dry-run; run --dry-run .",
				".devcontainer.json":              "validate; init --yes --dry-run; run --dry-run .",
				".devcontainer/sandbox.lock":      "drift; lock --check; init --yes --dry-run; image pull",
				".devcontainer/Dockerfile":        "init --yes --dry-run",
				"sbx-devc.jsonc":                  "validate .; validate --config sbx-devc.jsonc .",
				"sbx-devc-baseline.json":          "validate .",
				"policy.jsonc":                    "validate --policy policy.jsonc .",
				".gitattributes":                  "run --dry-run .",
				"hosts.txt":                       "run --dry-run --allow @hosts.txt .",
				"sbx-image.lock.json":             "image build; image tags --ref refs/heads/main --commit 0123456789012345678901234567890123456789",
				"pinned":                          "image pull --pinned pinned",
			} {
				dir := t.TempDir()
				if err := errors.Join(os.Mkdir(filepath.Join(dir, ".devcontainer"), 0o755), put(filepath.Join(dir, file))); err != nil {
					t.Fatal(err)
				}
				if config := filepath.Join(dir, ".devcontainer", "devcontainer.json"); strings.HasSuffix(commands, " .") &&
					strings.HasPrefix(commands, "validate ") {
					if err := os.WriteFile(config, []byte(`{"image": "debian:12"}`), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				if os.Geteuid() == 0 { // the agent never is root
					if err := os.Chown(dir, 1000, 1000); err != nil {
						t.Fatal(err)
					}
				}
				for line := range strings.SplitSeq(commands, "; ") {
					cmd := exec.CommandContext(t.Context(), "sh",
						append([]string{"-c", `ulimit -v 4000000; exec "$@"`, "sh", program}, strings.Fields(line)...)...)
					cmd.Dir, cmd.Env = dir, append(os.Environ(), "XDG_STATE_HOME="+dir+"/state", "XDG_CONFIG_HOME="+dir+"/config", "ANTHROPIC_API_KEY=x")
					late := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
					out, err := cmd.CombinedOutput()
					if late.Stop(); strings.Contains(string(out), "goroutine ") || cmd.ProcessState == nil || cmd.ProcessState.ExitCode() < 0 {
						t.Errorf("%s: %s: %v: %.300s", file, line, err, out)
					}
				}
			}
		})
	}
}
