package userdir

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

func env(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestFind(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the XDG folders")
	}
	for _, c := range []struct{ xdg, home, want string }{
		{"/x/cfg", "/home/u", "/x/cfg/sbx-devc"},
		{"", "/home/u", "/home/u/.config/sbx-devc"},
		{"cfg", "/home/u", "/home/u/.config/sbx-devc"},
		{"./.config", "/home/u", "/home/u/.config/sbx-devc"},
		{"", "", ""},
		{"", "here", ""},
	} {
		got, err := Find(env(map[string]string{"XDG_CONFIG_HOME": c.xdg, "HOME": c.home}))
		if string(got) != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

// Attack: a .env file of the project leads the user's folder into the project, its
// repository, or by a link there.
func TestAttackTheProjectBringsTheUsersFolder(t *testing.T) {
	repository, home := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	project := filepath.Join(repository, "packages", "a")
	link := filepath.Join(t.TempDir(), "link")
	for _, dir := range []string{project, filepath.Join(repository, ".git"), filepath.Join(home, ".git"), filepath.Join(home, "src", "b")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(repository, link); err != nil {
		testenv.Missing(t, "the right to make links", err.Error())
	}
	for _, dir := range []string{project, filepath.Join(project, ".config"), filepath.Join(repository, "x", "y"), filepath.Join(link, "x")} {
		if err := Dir(filepath.Join(dir, "sbx-devc")).Check(project); err == nil || diag.HintOf(err) == "" {
			t.Errorf("%s: %v", dir, err)
		}
	}
	own := Dir(filepath.Join(home, ".config", "sbx-devc"))
	for _, p := range []string{project, filepath.Join(home, "src", "b"), ""} { // the home folder is a repository of dot files
		if err := own.Check(p); err != nil {
			t.Errorf("a project at %q: %v", p, err)
		}
	}
	t.Setenv("HOME", project)
	if err := Dir(filepath.Join(project, ".config", "sbx-devc")).Check(project); err == nil {
		t.Error("HOME in the project passes")
	}
	if err := Dir(filepath.Join(project, ".config", "sbx-devc")).Check(filepath.Join(project, "sub")); err == nil {
		t.Error("a project below the folder that HOME names, in one repository, passes")
	}
}

// Attack: others write to the folder.
func TestAttackAFolderThatOthersWrite(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes")
	}
	dir := Dir(filepath.Join(t.TempDir(), "sbx-devc"))
	if err := dir.Make(); err != nil {
		t.Fatal(err)
	}
	if err := dir.Check(""); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o777, 0o702} {
		if err := os.Chmod(string(dir), mode); err != nil {
			t.Fatal(err)
		}
		if err := dir.Check(""); err == nil || diag.HintOf(err) == "" {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	testenv.Root(t)
	if err := os.Chmod(string(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(string(dir), 4711, 4711); err != nil {
		t.Fatal(err)
	}
	if err := dir.Check(""); err == nil || diag.HintOf(err) == "" {
		t.Errorf("another user's folder: %v", err)
	}
}
