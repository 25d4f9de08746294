package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Missing ends the test because component is not there: it fails when CI is
// set, otherwise it skips and says what is missing.
func Missing(t testing.TB, component, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is missing, and CI must not skip: %s", component, why)
	}
	t.Skipf("needs %s (run scripts/setup): %s", component, why)
}

// Slow skips the test under -short. Every test that needs a component outside
// the Go toolchain calls it first.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped by -short")
	}
}

// Program returns the path of an installed program, looked up in the folder
// that scripts/setup fills and then in PATH.
func Program(t testing.TB, name string) string {
	t.Helper()
	Slow(t)
	if p, err := exec.LookPath(filepath.Join(ToolsDir(), "bin", name)); err == nil {
		return p
	}
	p, err := exec.LookPath(name)
	if err != nil {
		Missing(t, name, err.Error())
	}
	return p
}

// Devcontainer is a command of the official dev container CLI. Files that the CLI
// leaves behind in its temporary folder go with the test.
func Devcontainer(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), Program(t, "devcontainer"), args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	return cmd
}

// ToolsDir is the folder that scripts/setup installs pinned tools into:
// SBX_TOOLS if set, otherwise claude-sandbox-dev in the user's cache folder.
func ToolsDir() string {
	if dir := os.Getenv("SBX_TOOLS"); dir != "" {
		return dir
	}
	return filepath.Join(CacheDir(), "claude-sandbox-dev")
}

// CacheDir is the user's cache folder, for programs that a test gives a home of its
// own: each cache folder has a copy of Claude Code, and a volume with one on the engine.
func CacheDir() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return os.TempDir()
	}
	return cache
}

// Root ends the test unless it runs as root, which network namespaces and
// packet filter rules need.
func Root(t testing.TB) {
	t.Helper()
	Slow(t)
	if os.Geteuid() != 0 {
		Missing(t, "root", "network namespaces and packet filter rules need it")
	}
}
