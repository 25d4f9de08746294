package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// BenchmarkFromProcessStart compares one file, from the start of the process
// to its end, with what the reference CLI needs to read (not check) the same.
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
	b.Run("validate", func(b *testing.B) {
		program := filepath.Join("..", "..", "bin", "sbx-devc")
		if _, err := os.Stat(program); err != nil {
			b.Skipf("needs scripts/build: %v", err)
		}
		run(b, func() *exec.Cmd { return exec.Command(program, "validate", file) })
	})
	b.Run("peer-read-configuration", func(b *testing.B) {
		run(b, func() *exec.Cmd { return testenv.Devcontainer(b, "read-configuration", "--workspace-folder", dir) })
	})
}
