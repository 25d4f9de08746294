package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// tree lists everything below dir with its content.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fmt.Fprintln(&out, p, d.Type())
		if d.Type().IsRegular() {
			text, err := os.ReadFile(p)
			fmt.Fprintf(&out, "%s\n", text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// small mounts a file system of its own over a new folder.
func small(t *testing.T, options string) string {
	t.Helper()
	testenv.Root(t)
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		testenv.Missing(t, "mounting a tmpfs", err.Error())
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// writing runs a command as it is and returns how it ends.
func writing(t *testing.T, args ...string) (code int, people string) {
	t.Helper()
	var out bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &out, getenv: func(string) string { return "" }}
	code = a.main(t.Context(), args)
	return code, out.String()
}

// extendable puts a dev container of the user's own into dir.
func extendable(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, ".devcontainer"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".devcontainer", "devcontainer.json"),
		[]byte("{\"image\": \"debian:12\", \"remoteUser\": \"dev\"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A file that cannot be written is named, and nothing is left behind.
func TestInitWhereNothingCanBeWritten(t *testing.T) {
	readOnly := func(t *testing.T, dir string) {
		if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name    string
		options string
		prepare func(t *testing.T, dir string)
		args    []string
		says    string
		hint    string
	}{
		{"a read-only file system", "", readOnly, nil, "read-only file system", "hint: the file system is mounted read-only"},
		{"another user's folder", "mode=0755", func(t *testing.T, dir string) {
			if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
				t.Fatal(err)
			}
			// For files this thread is somebody else until the test ends.
			runtime.LockOSThread()
			t.Cleanup(runtime.UnlockOSThread)
			t.Cleanup(func() { _ = unix.Setfsuid(0) })
			if err := unix.Setfsuid(65534); err != nil {
				t.Fatal(err)
			}
		}, nil, "permission denied", "hint: look at the owner and the mode"},
		{"extending on a read-only file system", "", func(t *testing.T, dir string) { extendable(t, dir); readOnly(t, dir) },
			[]string{"--extend"}, "read-only file system", "hint: the file system is mounted read-only"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := small(t, c.options)
			c.prepare(t, dir)
			before := tree(t, dir)
			code, people := writing(t, append([]string{"init", dir, "--no-detect"}, c.args...)...)
			if code != exitCantWrite || !strings.Contains(people, "error: writing into "+dir) || !strings.Contains(people, c.says) ||
				!strings.Contains(people, c.hint) {
				t.Errorf("exit code %d:\n%s", code, people)
			}
			if after := tree(t, dir); after != before {
				t.Errorf("left behind:\n%s", after)
			}
		})
	}
}

// A folder that may not be entered is not taken for one without a dev container.
func TestUnreadableDevcontainer(t *testing.T) {
	dir := small(t, "mode=0755")
	extendable(t, dir)
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(filepath.Join(dir, ".devcontainer"), 0)); err != nil {
		t.Fatal(err)
	}
	// For files this thread is somebody else until the test ends.
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	t.Cleanup(func() { _ = unix.Setfsuid(0) })
	if err := unix.Setfsuid(65534); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]int{"validate": exitNoCheck, "fix": exitNoCheck, "effective": exitNoCheck, "init": exitCantWrite} {
		code, people := writing(t, command, dir)
		if code != want || !strings.Contains(people, "permission denied") || !strings.Contains(people, "hint: look at the owner and the mode") {
			t.Errorf("%s ended with %d, want %d:\n%s", command, code, want, people)
		}
	}
}

// A part of a repository whose dev container may not be read is named, and the rest is checked; a folder
// that nobody looks into, as a database keeps one, is no dev container.
func TestUnreadableDevcontainerBelow(t *testing.T) {
	dir := small(t, "mode=0755")
	extendable(t, dir)
	for _, name := range []string{"other", "data", ".hidden"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	extendable(t, filepath.Join(dir, "other"))
	extendable(t, filepath.Join(dir, ".hidden"))
	if err := errors.Join(os.WriteFile(filepath.Join(dir, ".hidden", "sbx-devc.jsonc"), []byte(`{}`), 0),
		os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(filepath.Join(dir, "data"), 0),
		os.Chmod(filepath.Join(dir, "other", ".devcontainer"), 0)); err != nil {
		t.Fatal(err)
	}
	// For files this thread is somebody else until the test ends.
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	t.Cleanup(func() { _ = unix.Setfsuid(0) })
	if err := unix.Setfsuid(65534); err != nil {
		t.Fatal(err)
	}
	code, people := writing(t, "validate", dir)
	for _, want := range []string{"other/.devcontainer: permission denied", "hint: look at the owner and the mode", "sbx-devc: 1 file checked",
		"note: " + filepath.Join(dir, "data") + " cannot be read"} {
		if code != exitNoCheck || !strings.Contains(people, want) {
			t.Errorf("it ended with %d, want %d and %q:\n%s", code, exitNoCheck, want, people)
		}
	}
	code, people = writing(t, "validate", filepath.Join(dir, ".hidden"))
	if code != exitNoCheck || !strings.Contains(people, "sbx-devc.jsonc cannot be read: permission denied") ||
		!strings.Contains(people, "hint: look at the owner") {
		t.Errorf("a choice of rules that may not be read: %d\n%s", code, people)
	}
}

// randomName is the part of a temporary file's name that differs each time.
var randomName = regexp.MustCompile(`[0-9]{4,}`)

// A disk that becomes full, at every single step on the way, leaves nothing
// behind, be it new files, overwritten ones or a dev container that is extended.
func TestInitOnAFullDisk(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, dir string)
		args    []string
	}{
		{"new", func(*testing.T, string) {}, nil},
		{"with a workflow", func(*testing.T, string) {}, []string{"--with-workflow"}},
		{"overwriting", extendable, []string{"--force"}},
		{"extending", extendable, []string{"--extend"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for limit, least := range map[string]int{"nr_inodes": 4, "nr_blocks": 1} {
				full := 0
				// try returns at which step the disk was full, "" = it was not.
				try := func(n int) string {
					dir := small(t, fmt.Sprintf("%s=%d", limit, n))
					c.prepare(t, dir)
					before := tree(t, dir)
					code, people := writing(t, append([]string{"init", dir, "--no-detect"}, c.args...)...)
					if code == 0 {
						return ""
					}
					full++
					if code != exitCantWrite || !strings.Contains(people, "no space left") || !strings.Contains(people, "hint: the disk") {
						t.Fatalf("%s=%d: exit code %d:\n%s", limit, n, code, people)
					}
					if after := tree(t, dir); after != before {
						t.Fatalf("%s=%d: left behind:\n%s", limit, n, after)
					}
					return randomName.ReplaceAllString(strings.ReplaceAll(people, dir, ""), "")
				}
				// Each step is tried at its first and its last size: a program of some
				// megabytes is one step.
				for n, step := least, try(least); step != ""; step = try(n) {
					last, next := n, n+1
					for try(next) == step {
						last, next = next, next+2*(next-n)
					}
					for next-last > 1 {
						if between := (last + next) / 2; try(between) == step {
							last = between
						} else {
							next = between
						}
					}
					n = next
				}
				if full == 0 {
					t.Errorf("%s: was never full", limit)
				}
			}
		})
	}
}
