//go:build unix

package hostprogram

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
)

// program writes one that does nothing.
func program(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

// tree is a machine: a project, and folders elsewhere that lead into it in some way.
func tree(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program(t, dir+"/project/.venv/bin/tool")
	program(t, dir+"/project-2/bin/tool")
	program(t, dir+"/outside/bin/other")
	link(t, dir+"/outside/bin", dir+"/project/out")
	link(t, dir+"/project/.venv/bin", dir+"/in")
	link(t, "project/out", dir+"/through")
	link(t, dir+"/project", dir+"/alias")
	link(t, "project/not-yet/bin", dir+"/dangling")
	t.Chdir(dir)
	return dir
}

// The agent of a project writes programs, folders and links where PATH leads.
func TestAttackPATHLeadsIntoTheProject(t *testing.T) {
	dir := tree(t)
	in := map[string]bool{
		"":                              true,
		".":                             true,
		"outside/bin":                   true, // relative: the current folder decides
		"~/bin":                         true,
		dir + "/project":                true,
		dir + "/project/":               true,
		dir + "/project/.venv/bin":      true,
		dir + "/project/.venv/bin///":   true,
		dir + "/project/not/there/yet":  true,
		dir + "/outside/../project/bin": true,
		dir + "/project/../outside/bin": true, // a link may stand there tomorrow
		dir + "/project/out":            true, // in the project by its spelling alone
		dir + "/in":                     true, // in it by where it leads alone
		dir + "/through":                true, // in it on the way alone
		dir + "/alias/.venv/bin":        true,
		dir + "/dangling":               true,
		dir + "/project-2/bin":          false,
		dir + "/outside/bin":            false,
		dir + "/outside/bin/":           false,
		dir + "/missing":                false,
		dir:                             false,
	}
	if _, err := os.Stat(dir + "/PROJECT"); err == nil || runtime.GOOS == "darwin" {
		in[dir+"/PROJECT/.venv/bin"] = err == nil
	}
	for entry, want := range in {
		t.Setenv("PATH", "/first"+":"+entry+":"+"/last")
		Exclude(dir + "/alias")
		got := os.Getenv("PATH")
		if wanted := "/first:" + entry + ":/last"; !want && got != wanted {
			t.Errorf("PATH with %q is %q", entry, got)
		}
		if want && got != "/first:/last" {
			t.Errorf("PATH with %q is %q: an agent can write programs there", entry, got)
		}
	}
	t.Setenv("PATH", dir+"/in:")
	if Exclude(dir + "/project"); os.Getenv("PATH") != os.DevNull {
		t.Errorf("of a PATH that leads nowhere else %q is left", os.Getenv("PATH"))
	}
}

// A program elsewhere may be a link into the project, or into the file that is mounted.
func TestAttackAProgramIsALinkIntoTheProject(t *testing.T) {
	dir := tree(t)
	program(t, dir+"/mounted")
	link(t, "../../project/.venv/bin/tool", dir+"/outside/bin/tool")
	link(t, dir+"/project/out/other", dir+"/outside/bin/there-and-back")
	link(t, dir+"/mounted", dir+"/outside/bin/mount")
	t.Setenv("PATH", dir+"/outside/bin")
	Exclude(dir+"/project", dir+"/mounted")
	for _, name := range []string{"tool", "there-and-back", "mount"} {
		if found, err := Find(name); err == nil || errors.Is(err, exec.ErrNotFound) || diag.HintOf(err) == "" {
			t.Errorf("%s: %q, %v", name, found, err)
		}
	}
	if found, err := Find("other"); err != nil || found != dir+"/outside/bin/other" {
		t.Errorf("%q, %v", found, err)
	}
}

func TestARefusedProgramIsNamed(t *testing.T) {
	dir := tree(t)
	path := dir + "/project/.venv/bin:" + dir + "/outside/bin"
	t.Setenv("PATH", path)
	Exclude(dir + "/project")
	Exclude(dir + "/project-2") // keeps what is known of PATH
	_, err := Find("tool")
	if err == nil || errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), dir+"/project/.venv/bin/tool") ||
		!strings.Contains(diag.HintOf(err), "PATH leads into a folder that agents of this or other runs can write") {
		t.Errorf("%v (%s)", err, diag.HintOf(err))
	}
	if _, err := Find("none"); !errors.Is(err, exec.ErrNotFound) {
		t.Error(err)
	}
	for _, v := range Environ() {
		if strings.HasPrefix(v, "PATH=") && v != "PATH="+path {
			t.Errorf("the user's own %s", v)
		}
	}
}
