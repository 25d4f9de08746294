//go:build unix

package sandbox

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/test/workspacetest"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// onCopy makes an agent a script that works on a copy or a clone.
func onCopy(mode workspace.Mode, script string) runplan.Options {
	o := shell("cd /workspace\n" + script)
	o.User.Workspace.Mode = string(mode)
	return o
}

// Two agents work on clones of one repository at the same time: each sees what is
// committed and nothing else, the project does not change by a byte, and all their work
// is there at the end: commits as branches, the rest in the run's tree.
func TestSeveralAgentsOnClonesOfOneRepository(t *testing.T) {
	t.Parallel()
	e := connect(t)
	r := newRepository(t)
	r.write("a.txt", "one\n")
	r.git("project", "add", "-A")
	r.git("project", "-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "two")
	r.write("a.txt", "not committed\n")
	r.write("secret.env", "not committed\n")
	r.git("project", "add", "secret.env")
	before := snapshot(t, r.dir)
	script := func(name string) string {
		return `git status --short; cat a.txt; ls secret.env; git log --format=%s | head -1
echo ` + name + ` >` + name + `.txt; git add -A; git commit -q -m ` + name + `; echo left >left-` + name +
			`.txt; mkdir -p .vscode; echo '{}' >.vscode/tasks.json
`
	}
	second := &trial{options: onCopy(workspace.Clone, script("second")), dir: r.dir}
	first := &trial{options: onCopy(workspace.Clone, script("first")+"echo ready; until test -e go; do sleep 0.1; done"), dir: r.dir}
	first.during = func(p *runplan.Plan, _ *workspace.Workspace) {
		second.run(t, e)
		if err := os.WriteFile(filepath.Join(p.Project.Dir, "go"), nil, 0o644); err != nil {
			t.Error(err)
		}
	}
	first.run(t, e)
	if after := snapshot(t, r.dir); after != before {
		t.Errorf("the project changed")
	}
	for name, tr := range map[string]*trial{"first": first, "second": second} {
		if tr.err != nil || !strings.HasPrefix(tr.stdout.String(), "one\ntwo\n") {
			t.Errorf("%s: %v: %q %s", name, tr.err, tr.stdout.String(), tr.stderr.String())
			continue
		}
		if c := tr.result.Commits; len(c) != 1 || c[0].Count != 1 {
			t.Errorf("%s: the commits are %+v", name, c)
		} else if err := gitdir.Apply(context.Background(), tr.state, c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if tr.result.WorkTree != TreeFolder || !strings.Contains(strings.Join(tr.result.Changes.Paths(20), " "), "left-"+name+".txt") {
			t.Errorf("%s: tree %q, changes %q", name, tr.result.WorkTree, tr.result.Changes.Paths(20))
		}
		if text, err := os.ReadFile(filepath.Join(tr.state, TreeFolder, "left-"+name+".txt")); err != nil || string(text) != "left\n" {
			t.Errorf("%s: the tree has %q, %v", name, text, err)
		}
		if said := strings.Join(tr.said, "\n"); !strings.Contains(said, "uncommitted changes are not in it") ||
			strings.Contains(said, "is in this folder, too") {
			t.Errorf("%s: said %q", name, said)
		}
	}
	out, _ := r.host("project", "branch", "--list", "sbx/*")
	if strings.Count(out, "sbx/") != 2 {
		t.Errorf("the branches are %s", out)
	}
}

// An agent works on a copy of the folder as it is, where nothing is protected, and the
// project stays. A copy that nobody changed is removed.
func TestACopyOfTheFolder(t *testing.T) {
	t.Parallel()
	e := connect(t)
	r := newRepository(t)
	r.write("a.txt", "not committed\n")
	r.write(".env", "untracked\n")
	r.write("deep/er/file", "x\n")
	if err := errors.Join(os.Symlink("/etc/passwd", filepath.Join(r.dir, "link")),
		os.Chmod(filepath.Join(r.dir, "deep/er/file"), 0o4755)); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", filepath.Join(r.dir, "talk"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	before := snapshotFiles(t, r.dir)
	o := onCopy(workspace.Copy, `cat a.txt .env ../er/file; readlink ../../link; stat -c %a file; ls ../../talk
cd /workspace; git status --short | sort; echo x >a.txt; rm .env; mkdir -p .vscode .git/hooks; echo x >.vscode/tasks.json; `+
		`echo x >.git/hooks/post-commit; chmod +x .git/hooks/*
git add a.txt; git -c user.name=a -c user.email=a@b commit -q -m agent; echo done`)
	o.Command[2] = strings.Replace(o.Command[2], "cd /workspace\ncat a.txt .env", "cat /workspace/a.txt /workspace/.env", 1)
	o.Folder = "deep/er"
	tr := (&trial{options: o, dir: r.dir}).run(t, e)
	out := tr.stdout.String()
	if tr.err != nil || !strings.HasPrefix(out, "not committed\nuntracked\nx\n/etc/passwd\n755\n") || !strings.HasSuffix(out, "done\n") {
		t.Fatalf("%v: %q %s", tr.err, out, tr.stderr.String())
	}
	if after := snapshotFiles(t, r.dir); after != before || r.ran() {
		t.Errorf("the project was\n%s\nand is\n%s", before, after)
	}
	paths := strings.Join(tr.result.Changes.Paths(20), " ")
	for _, want := range []string{".vscode/tasks.json", "a.txt", ".env"} {
		if !strings.Contains(paths, want) {
			t.Errorf("%s is not among the changes: %s", want, paths)
		}
	}
	if len(tr.result.Commits) != 1 || tr.result.WorkTree == "" || len(tr.result.Warnings) != 1 ||
		!strings.HasSuffix(tr.result.Warnings[0], "had not committed when the run began: a.txt") {
		t.Errorf("commits %+v, tree %q, warnings %q; %s %s %q", tr.result.Commits, tr.result.WorkTree, tr.result.Warnings, out,
			tr.stderr.String(), tr.said)
	}
	quiet := (&trial{options: onCopy(workspace.Copy, "git status --short >/dev/null; true"), dir: r.dir}).run(t, e)
	if _, err := os.Lstat(filepath.Join(quiet.state, TreeFolder)); err == nil || quiet.result.WorkTree != "" {
		t.Errorf("a copy without a change stays: %q, %+v", quiet.result.WorkTree, quiet.result.Changes)
	}
}

// snapshotFiles is snapshot of a folder that holds other things than files.
func snapshotFiles(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(file string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(file)
		out.WriteString(file + "\n" + string(text) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A clone needs a repository with a commit, and says what helps.
func TestNothingToClone(t *testing.T) {
	o := runplan.Options{ID: "test", Containers: runplan.Containers{Image: "image:1"}, Folders: runplan.Folders{Tree: "/nowhere"}}
	o.User.Workspace.Mode = string(workspace.Clone)
	if _, err := newPlan(o, runplan.Facts{Workspace: workspacetest.Folder(t)}); !errors.Is(err, workspace.ErrRefused) ||
		!strings.Contains(diag.HintOf(err), "--workspace copy") {
		t.Errorf("%v, %q", err, diag.HintOf(err))
	}
	e := connect(t)
	project := newProject(t, true) // without a commit
	tr := (&trial{options: onCopy(workspace.Clone, "true"), dir: project}).run(t, e)
	if !errors.Is(tr.err, gitdir.ErrNoCommit) || tr.result.ExitCode != 125 {
		t.Errorf("%v, exit code %d", tr.err, tr.result.ExitCode)
	}
	if _, err := os.Lstat(filepath.Join(tr.state, TreeFolder)); err == nil {
		t.Error("half a clone stays")
	}
}
