//go:build unix

package sandbox

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/mountinfo"
	"github.com/org/claude-sandbox/internal/test/workspacetest"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/workspace"
)

// Attack: a mount brings in the engine, the machine, the home, keys, sockets, this
// program's own files, or the project's protected paths by a second way.
func TestAttackAMountShowsWhatIsNoFolderOfTheProjects(t *testing.T) {
	home, own := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	w := workspacetest.Folder(t, ".vscode/tasks.json", ".git/HEAD", ".git/objects/", ".git/refs/", "src/a.go")
	for _, dir := range []string{".ssh", ".gnupg/x", "src/lib", ".config/gh"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(home, "talk")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := errors.Join(os.Symlink(home, filepath.Join(home, "src", "up")),
		os.WriteFile(filepath.Join(home, ".ssh", "id"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		host     string
		readOnly bool
		want     error
	}{
		{"/", true, workspace.ErrRefused},
		{"/proc/1", true, workspace.ErrRefused},
		{"/run", true, workspace.ErrRefused}, // holds engines' sockets
		{"/etc", false, workspace.ErrRefused},
		{"~", true, workspace.ErrRefused},
		{"~/", true, workspace.ErrRefused},
		{filepath.Dir(home), true, workspace.ErrRefused},
		{"~/src/up", true, workspace.ErrRefused}, // a link to the home
		{"~/.ssh", true, workspace.ErrRefused},
		{"~/.ssh/id", true, workspace.ErrRefused},
		{"~/src/../.gnupg/x", true, workspace.ErrRefused},
		{"~/talk", true, workspace.ErrRefused},
		{own, true, workspace.ErrRefused},
		{filepath.Dir(own), true, workspace.ErrRefused},
		{w.Dir, false, workspace.ErrRefused},
		{filepath.Join(w.Dir, ".vscode"), false, workspace.ErrRefused},
		{filepath.Join(w.Dir, ".git", "hooks"), false, workspace.ErrRefused},
		{filepath.Join(w.Dir, ".git", "refs"), false, workspace.ErrRefused},
		{"~/missing", true, workspace.ErrInput},
		{`C:\src`, true, runplan.ErrConfig},
		{"~/src/lib", false, nil},
		{"~/.config/gh", true, nil}, // said
		{filepath.Join(w.Dir, ".vscode"), true, nil},
		{filepath.Join(w.Dir, "src"), false, nil},
	} {
		o := runplan.Options{ID: "test", Containers: runplan.Containers{Image: "image:1"}, Folders: runplan.Folders{OwnFolders: []string{own}}}
		o.User.Mounts = []settings.Mount{{Host: c.host, Container: "/mnt/x", ReadOnly: c.readOnly}}
		p, err := newPlan(o, runplan.Facts{Workspace: w})
		switch {
		case c.want == nil && err != nil, c.want != nil && (!errors.Is(err, c.want) || diag.HintOf(err) == ""):
			t.Errorf("%s, read-only %v: %v; want %v, with a hint", c.host, c.readOnly, err, c.want)
		case c.host == "~/.config/gh" && !strings.Contains(strings.Join(p.Warnings, "\n"), "~/.config/gh"):
			t.Errorf("the warnings are %q", p.Warnings)
		}
	}
	if _, err := os.Lstat(filepath.Join(home, "missing")); err == nil {
		t.Error("the missing folder was made")
	}
}

// Attack: a mount's place hides what the run puts into the agent's container, Claude
// Code's program, or makes a folder in the project.
func TestAttackAMountHidesTheRunsOwnFiles(t *testing.T) {
	w, dir := workspacetest.Folder(t), t.TempDir()
	for target, fine := range map[string]bool{
		"/workspace": false, "/workspace/x": false, "/": false, "/proc": false, "/etc": false, "/etc/passwd": false,
		"/run/sbx": false, "/run": false,
		"/.sbx": false, "/.sbx-new": false, "/home/agent": false, "/home": false, "/home/agent/.claude": false, "/home/agent/.claude/x": false,
		"/usr/local/bin": false, "/usr/local/bin/claude": false, "/usr": false, "/usr/local/sbin": false,
		"/mnt/x": true, "/home/agent/.cache/go": true, "/usr/share/dict": true, "/workspaces": true,
	} {
		o := runplan.Options{ID: "test", Containers: runplan.Containers{Image: "image:1"}}
		o.User.Mounts = []settings.Mount{{Host: dir, Container: target}}
		if _, err := newPlan(o, runplan.Facts{Workspace: w}); fine != (err == nil) || !fine && !errors.Is(err, runplan.ErrConfig) {
			t.Errorf("%s: %v", target, err)
		}
	}
	o := runplan.Options{ID: "test", Containers: runplan.Containers{Image: "image:1"}}
	o.User.Mounts = []settings.Mount{{Host: dir, Container: "/home/agent/.cache/go/pkg"}}
	p, err := newPlan(o, runplan.Facts{Workspace: w})
	if err != nil || p.Agent.Tmpfs["/home/agent/.cache/go"] == "" || p.Agent.Tmpfs["/home/agent/.cache"] == "" {
		t.Errorf("%v; the folders on the way are %v", err, p.Agent.Tmpfs)
	}
}

// Attack: a link takes the place of a mounted folder between the check and the start,
// or between the start and the prompt.
func TestAttackAMountBecomesALink(t *testing.T) {
	w, dir, secret := workspacetest.Folder(t), t.TempDir(), t.TempDir()
	lib := filepath.Join(dir, "lib")
	if err := os.Mkdir(lib, 0o755); err != nil {
		t.Fatal(err)
	}
	o := runplan.Options{ID: "test", Containers: runplan.Containers{Image: "image:1"}}
	o.User.Workspace.Mode = "ro" // then nothing else is mounted
	o.User.Mounts = []settings.Mount{{Host: lib, Container: "/mnt/lib"}}
	p, err := newPlan(o, runplan.Facts{Workspace: w})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Project.CheckSources(); err != nil {
		t.Errorf("nothing was swapped yet: %v", err)
	}
	for name, swap := range map[string]func() error{
		"link":   func() error { return errors.Join(os.Rename(lib, lib+".old"), os.Symlink(secret, lib)) },
		"folder": func() error { return errors.Join(os.Rename(lib, lib+".kept"), os.Mkdir(lib, 0o755)) },
		"gone":   func() error { return os.Remove(lib) },
	} {
		if err := swap(); err != nil {
			t.Fatal(err)
		}
		if err := p.Project.CheckSources(); !errors.Is(err, workspace.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
		_ = os.RemoveAll(lib)
		_ = os.Mkdir(lib, 0o755)
	}
	// The engine mounted what the link led to, although it is gone again.
	if runtime.GOOS != "linux" {
		t.Skip("no mountinfo")
	}
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	var told strings.Builder
	for m := range mountinfo.Parse(string(text)) {
		if m.Point == "/" {
			told.WriteString("1 0 " + m.Device + " " + filepath.Join(m.Root, w.Dir) + " /workspace rw - x x rw\n")
			told.WriteString("2 1 " + m.Device + " " + filepath.Join(m.Root, secret) + " /mnt/lib rw - x x rw\n")
		}
	}
	if err := p.Project.Compare(told.String()); !errors.Is(err, workspace.ErrRefused) || !strings.Contains(err.Error(), "/mnt/lib") {
		t.Errorf("a mount of another folder passes: %v", err)
	}
}

// A project's file may make the workspace narrower, never wider than the user said.
func TestTheProjectNarrowsTheWorkspace(t *testing.T) {
	for _, c := range []struct{ own, flag, project, want string }{
		{"", "", "", "bind"}, {"", "", "ro", "ro"}, {"", "", "none", "none"}, {"", "ro", "bind", "ro"}, {"", "bind", "ro", "bind"},
		{"ro", "", "", "ro"}, {"ro", "", "none", "none"}, {"ro", "", "bind", ""}, {"none", "", "ro", ""}, {"ro", "bind", "", "bind"},
	} {
		o := runplan.Options{ID: "test", Containers: runplan.Containers{Image: "image:1"},
			Layers: runplan.Layers{Project: &settings.Settings{Workspace: settings.Workspace{Mode: c.project}}}}
		o.Own.Workspace.Mode, o.User.Workspace.Mode = c.own, c.flag
		p, err := newPlan(o, runplan.Facts{Workspace: workspacetest.Folder(t)})
		if c.want == "" {
			if !errors.Is(err, runplan.ErrWidens) || !strings.Contains(diag.HintOf(err), "--workspace "+c.project) {
				t.Errorf("%+v: %v, %q", c, err, diag.HintOf(err))
			}
		} else if err != nil || string(p.Place.Mode) != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// With ro the agent reads the project and its git works; nothing in the project changes,
// not even by the run itself. A mount next to it can be written to, or not.
func TestAReadOnlyWorkspaceAndMounts(t *testing.T) {
	e := connect(t)
	w := newProject(t, true)
	before := snapshot(t, w)
	readable, writable := t.TempDir(), t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(readable, "text"), []byte("told\n"), 0o644), os.Chmod(readable, 0o755),
		os.Chmod(writable, 0o777)); err != nil {
		t.Fatal(err)
	}
	o := shell(`cat main.go /mnt/in/text; git status --short | head -3
for f in main.go new .git/hooks/x .vscode/x /mnt/in/x .devcontainer/devcontainer.json; do (echo x >$f) 2>/dev/null && echo "WROTE $f"; done
mkdir x 2>/dev/null && echo "WROTE x"; rm main.go 2>/dev/null && echo "WROTE gone"; mv .git g 2>/dev/null && echo "WROTE moved"
touch /home/agent/.cache/y && echo x >/home/agent/.cache/out/file && echo fine`)
	o.User.Workspace.Mode = "ro"
	o.User.Mounts = []settings.Mount{{Host: readable, Container: "/mnt/in", ReadOnly: true},
		{Host: writable, Container: "/home/agent/.cache/out"}}
	tr := (&trial{options: o, dir: w}).run(t, e)
	out := tr.stdout.String()
	if tr.err != nil || !strings.Contains(out, "package main\ntold\n") || !strings.Contains(out, "fine\n") {
		t.Fatalf("%v: %s", tr.err, out)
	}
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "WROTE") && line != "WROTE .git/hooks/x\n" { // its own git directory
			t.Errorf("the agent: %s", line)
		}
	}
	if after := snapshot(t, w); after != before {
		t.Errorf("the project was\n%s\nand is\n%s", before, after)
	}
	if text, err := os.ReadFile(filepath.Join(writable, "file")); err != nil || string(text) != "x\n" {
		t.Errorf("the writable mount holds %q, %v", text, err)
	}
	if tr.result.Changes != nil {
		t.Errorf("the run says that %+v changed", tr.result.Changes)
	}
}

// With none the agent has an empty folder, and nothing of the host is mounted but the
// run's own account files.
func TestNoWorkspace(t *testing.T) {
	e := connect(t)
	dir := newProject(t, true)
	before := snapshot(t, dir)
	o := shell("ls -A . | wc -l; echo x >file && cat file; grep -c " + dir + " /proc/self/mountinfo")
	o.User.Workspace.Mode = "none"
	tr := (&trial{options: o, dir: dir}).run(t, e)
	if tr.err != nil || tr.stdout.String() != "0\nx\n0\n" {
		t.Errorf("%v: %s", tr.err, tr.stdout.String())
	}
	if after := snapshot(t, dir); after != before {
		t.Errorf("the project was\n%s\nand is\n%s", before, after)
	}
	for _, m := range tr.plan.Agent.Mounts {
		if m.Source != "" && !slices.Contains(runplan.AccountFiles(), m.Target) {
			t.Errorf("%+v is mounted", m)
		}
	}
	if dir, err := os.UserHomeDir(); err == nil {
		if _, err := newPlan(runplan.Options{ID: "test", Containers: runplan.Containers{Image: "image:1"},
			Layers: runplan.Layers{User: settings.Settings{Workspace: settings.Workspace{Mode: "none"}}}},
			runplan.Facts{Workspace: unseen(t, dir)}); err != nil {
			t.Errorf("nothing of the home would be shown: %v", err)
		}
	}
}

func unseen(t *testing.T, dir string) *workspace.Workspace {
	t.Helper()
	w, err := workspace.Unseen(dir)
	if err != nil {
		t.Fatal(err)
	}
	return w
}
