package runplan

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/workspace"
)

// A file of the project and of an added folder is found in the sandbox, also by a way over
// a link, and no other one is.
func TestAFileOfTheMachineIsFoundInTheSandbox(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	for _, name := range []string{"app/sub/a.png", "app2/a.png", "pictures/b.png", "runs/tree/a.png"} {
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Symlink(t, at("app"), at("link"))
	plan := func(mode workspace.Mode, source string) *Plan {
		return &Plan{Place: Place{Mode: mode, Folder: at("app")}, Project: &workspace.Mounts{List: []workspace.Mount{
			{Source: source, Target: WorkspaceTarget}, {Source: at("pictures"), Target: "/mnt/pictures", ReadOnly: true},
			{Volume: "/.sbx-git/0", Target: "/mnt/git"},
		}}}
	}
	for file, want := range map[string]string{
		at("app"): "/workspace", at("app/sub/a.png"): "/workspace/sub/a.png", at("link/sub/a.png"): "/workspace/sub/a.png",
		at("app") + "/sub/../sub/a.png": "/workspace/sub/a.png", at("pictures/b.png"): "/mnt/pictures/b.png",
		at("app2/a.png"): "", at("app/none.png"): "", at("app/../app2/a.png"): "", "sub/a.png": "", "": "", dir: "",
	} {
		for _, mode := range []workspace.Mode{workspace.Bind, workspace.ReadOnly} {
			if got, found := plan(mode, at("app")).InSandbox(file); got != want || found != (want != "") {
				t.Errorf("%s %s: %q, %v, want %q", mode, file, got, found, want)
			}
		}
	}
	if got, _ := plan(workspace.Copy, at("runs/tree")).InSandbox(at("app/sub/a.png")); got != "/workspace/sub/a.png" {
		t.Errorf("on a copy: %q", got)
	}
	if got, found := plan(workspace.None, "").InSandbox(at("app/sub/a.png")); found {
		t.Errorf("without the project: %q", got)
	}
}
