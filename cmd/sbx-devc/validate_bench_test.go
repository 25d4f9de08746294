package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// BenchmarkFromProcessStart runs commands from the start of the process to its end:
// the check of one file, and the time that the reference CLI takes to read (not
// check) the same; a list of runs, and the engine's list of containers; a run's plan.
func BenchmarkFromProcessStart(b *testing.B) {
	dir := b.TempDir()
	file := filepath.Join(dir, ".devcontainer", "devcontainer.json")
	src := `{"image": "debian:13", "features": {"ghcr.io/devcontainers/features/go:1": {}}, "postCreateCommand": "go version"}`
	if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(src), 0o644)); err != nil {
		b.Fatal(err)
	}
	run := func(b *testing.B, command func() *exec.Cmd) {
		for b.Loop() {
			if out, err := command().CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	}
	program := filepath.Join("..", "..", "bin", "sbx-devc")
	if _, err := os.Stat(program); err != nil {
		b.Skipf("needs scripts/build: %v", err)
	}
	env := append(os.Environ(), "XDG_STATE_HOME="+b.TempDir(), "ANTHROPIC_API_KEY=sk-ant-key-of-this-test")
	for _, args := range [][]string{{"validate", file}, {"ls"}, {"run", dir, "--dry-run", "work"}} {
		b.Run(args[0], func(b *testing.B) {
			run(b, func() *exec.Cmd {
				cmd := exec.Command(program, args...)
				cmd.Env = env
				return cmd
			})
		})
	}
	b.Run("peer-read-configuration", func(b *testing.B) {
		run(b, func() *exec.Cmd { return testenv.Devcontainer(b, "read-configuration", "--workspace-folder", dir) })
	})
	b.Run("peer-docker-ps", func(b *testing.B) {
		run(b, func() *exec.Cmd { return exec.Command(testenv.Program(b, "docker"), "ps") })
	})
}
