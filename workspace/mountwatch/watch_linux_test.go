package mountwatch

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// watchedFolder names the project for the process that these tests start in a mount
// namespace of its own, as a container has.
const watchedFolder = "SBX_TEST_WATCHED"

func TestMain(m *testing.M) {
	if dir := os.Getenv(watchedFolder); dir != "" {
		fmt.Println(watch(dir))
		return
	}
	os.Exit(m.Run())
}

// watch mounts what protects a project, and returns when some of that goes.
func watch(dir string) error {
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	for _, rel := range []string{"protected", "folder", "folder/.vscode", ".git/config"} {
		at := filepath.Join(dir, rel)
		err = errors.Join(err, unix.Mount(at, at, "", unix.MS_BIND, ""))
		if rel != "folder" {
			err = errors.Join(err, unix.Mount("", at, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
		}
	}
	if err = errors.Join(err, unix.Mount("cache", filepath.Join(dir, "cache"), "tmpfs", 0, "")); err != nil {
		return err
	}
	w, err := Start()
	if err == nil {
		err = w.CheckSpellings()
	}
	if err != nil {
		return err
	}
	fmt.Println("ready")
	err = w.Await()
	return fmt.Errorf("%w; %s", err, diag.HintOf(err))
}

func TestAWatchEndsWithWhatProtects(t *testing.T) {
	testenv.Root(t)
	for _, c := range []struct {
		name   string
		change func(at func(string) string) error
		want   string // that the error begins with, below the project
	}{
		{"removed", func(at func(string) string) error { return os.Remove(at("protected")) }, "protected: removed"},
		{"renamed", func(at func(string) string) error { return os.Rename(at("protected"), at("other")) }, "protected: removed"},
		{"the folder above is renamed", func(at func(string) string) error { return os.Rename(at("folder"), at("other")) },
			"folder/.vscode: removed"},
		{"a file of git's is replaced", func(at func(string) string) error {
			return errors.Join(os.WriteFile(at(".git/config.lock"), []byte("new"), 0o644), os.Rename(at(".git/config.lock"), at(".git/config")))
		}, ".git/config: removed"},
		{"a file of git's is written to by another name", func(at func(string) string) error {
			return os.WriteFile(at("same"), []byte("evil"), 0o644)
		}, ".git/config: written to"},
		{"a cache goes first, which is no danger", func(at func(string) string) error {
			return errors.Join(os.Remove(at("cache")), os.WriteFile(at("new"), nil, 0o644), os.Remove(at("protected")))
		}, "protected: removed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			at := func(rel string) string { return filepath.Join(dir, rel) }
			for _, folder := range []string{"protected", "folder/.vscode", ".git", "cache"} {
				err = errors.Join(err, os.MkdirAll(at(folder), 0o755))
			}
			err = errors.Join(err, os.WriteFile(at(".git/config"), []byte("old"), 0o644), os.Link(at(".git/config"), at("same")))
			cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
			cmd.Env = append(os.Environ(), watchedFolder+"="+dir)
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
			out, outErr := cmd.StdoutPipe()
			if err := errors.Join(err, outErr, cmd.Start()); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			if !lines.Scan() || lines.Text() != "ready" {
				t.Fatalf("it says %q", lines.Text())
			}
			if err := c.change(at); err != nil {
				t.Error(err)
			}
			lines.Scan()
			if said := lines.Text(); !strings.HasPrefix(said, at(c.want)) || !strings.Contains(said, "; look at these") {
				t.Errorf("it says %q", said)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}
