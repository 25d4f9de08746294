package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/sandbox"
)

// Attack: the agent puts a symbolic link in the place of --summary-file, or of its
// folder, and has a file of the user's overwritten.
func TestAttackLinkInThePlaceOfTheSummary(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, project := filepath.Join(base, "home"), filepath.Join(base, "project")
	victim := filepath.Join(home, "victim.json")
	for _, err := range []error{os.MkdirAll(home, 0o755), os.MkdirAll(filepath.Join(project, "out"), 0o755),
		os.WriteFile(victim, []byte("precious"), 0o644)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, name string) error { return os.Symlink(target, filepath.Join(project, name)) }
	for _, c := range []struct {
		name   string
		file   string // that the user names
		before func() error
		attack func() error
		at     string // where the summary is afterwards
	}{
		{"the file", "a.json", nil, func() error { return link(victim, "a.json") }, "a.json"},
		{"before the run", "b.json", func() error { return link(victim, "b.json") }, nil, "b.json"},
		{"a device, before the run", "c.json", func() error { return link("/dev/null", "c.json") }, nil, "c.json"},
		{"the folder", "out/victim.json", nil, func() error {
			return errors.Join(os.Rename(filepath.Join(project, "out"), filepath.Join(project, "old")), link(home, "out"))
		}, "old/victim.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.before != nil {
				if err := c.before(); err != nil {
					t.Fatal(err)
				}
			}
			s, err := OpenSummary(filepath.Join(project, c.file), project)
			if err != nil {
				t.Fatal(err)
			}
			if c.attack != nil {
				if err := c.attack(); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Save(&sandbox.Result{ID: "one"}, nil); err != nil {
				t.Error(err)
			}
			if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
				t.Errorf("a file of the user's holds %q, %v", text, err)
			}
			at := filepath.Join(project, filepath.FromSlash(c.at))
			info, err := os.Lstat(at)
			if err != nil || !info.Mode().IsRegular() {
				t.Fatalf("%s is %v, %v", at, info, err)
			}
			if text, err := os.ReadFile(at); err != nil || !strings.Contains(string(text), `"id": "one"`) {
				t.Errorf("the summary is %q, %v", text, err)
			}
		})
	}
	// A pipe or device is written to, where the agent cannot have put it.
	pipe, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if runtime.GOOS == "windows" {
		t.Skip("there is no /dev/fd")
	}
	s, err := OpenSummary(fmt.Sprintf("/dev/fd/%d", in.Fd()), project)
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	if err := s.Save(&sandbox.Result{ID: "two"}, nil); err != nil {
		t.Error(err)
	}
}

// Attack: an agent of an earlier run put a link in the place of the folder of
// --summary-file, or of one above it. The file behind it stays as it is.
func TestAttackFolderOfTheSummaryIsALinkAlready(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, project := filepath.Join(base, "home"), filepath.Join(base, "project")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(home, "deep"), 0o755), os.MkdirAll(filepath.Join(project, "plain"), 0o755),
		os.Symlink(home, filepath.Join(project, "out")), os.Symlink("plain", filepath.Join(project, "inside")),
		os.Symlink(project, filepath.Join(base, "way")), // the user's own, outside of the project
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, refused := range map[string]bool{
		"project/out/f.json": true, "project/out/deep/f.json": true, "project/inside/f.json": true, "way/out/f.json": true,
		"project/plain/../out/f.json": true,
		"project/plain/f.json":        false, "project/f.json": false, "way/plain/f.json": false, "home/f.json": false,
	} {
		s, err := OpenSummary(filepath.FromSlash(base+"/"+name), project)
		if (err != nil) != refused {
			t.Errorf("%s: %v", name, err)
		}
		if s != nil {
			s.folder.Close()
		}
	}
	t.Chdir(project)
	if _, err := OpenSummary("out/f.json", project); err == nil || diag.HintOf(err) == "" {
		t.Errorf("a relative path: %v", err)
	}
}
