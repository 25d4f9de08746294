//go:build unix

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// A part of a repository has a dev container of its own: git works there as anywhere in
// the repository, and the agent's commit comes back. Attacks: the agent writes what the
// host obeys in that part, or in the repository, and makes repositories of the folders on
// the way to the user; "clean" in the part, or the end of a run around it, take away what
// protects others.
func TestAttackAPartOfARepositoryWithADevContainerOfItsOwn(t *testing.T) {
	const agent = `test "$PWD" = /workspace/apps/web/src && git log --format=%s | grep -q begin && echo two >f
		git add . && git commit -q -m 'The agent did it'
		echo >/workspace/begun; for i in $(seq 300); do test -e /workspace/go && break; sleep 0.1; done
		cd /workspace; for f in apps/web/.devcontainer/sandbox.jsonc apps/web/.vscode/tasks.json apps/web/.cursor/rules ` +
		`apps/web/secret apps/web/.claude/x \
			apps/web/opened.sh .devcontainer/x .vscode/tasks.json; do
			mkdir -p ${f%/*}; echo evil >$f && echo $f >>apps/web/src/written; done
		git init -q --bare /tmp/evil; git -C /tmp/evil config core.bare false; git -C /tmp/evil config core.fsmonitor 'touch "$MARK"; false'
		for d in apps apps/web apps/web/src; do
			cp -r /tmp/evil $d/.git; cp -r /tmp/evil/. $d/.git; cp -r /tmp/evil/. $d; git -C $d config -f config core.worktree .; done; true`
	mark := filepath.Join(t.TempDir(), "mark")
	r := runProgram(t, []string{scripted(t, agent), "XDG_CONFIG_HOME=" + t.TempDir(),
		// where root runs this, the project is not root's
		"MARK=" + mark, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"})
	command := func(line string) string {
		t.Helper()
		cmd := exec.Command("sh", "-c", "set -e; "+line)
		cmd.Dir, cmd.Env = r.Dir, r.Env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		return string(out)
	}
	command(`git init -q -b main && git config user.name "Ann Example" && git config user.email ann@example.org
		mkdir -p apps/web/src apps/web/.devcontainer apps/web/.cursor && cd apps/web && echo one >src/f && echo mine ` +
		`>secret && echo good >.cursor/rules
		echo '{"network": {"deny": ["docs.example.com"]}, "workspace": {"protect": ["secret"]}}' >.devcontainer/sandbox.jsonc
		echo good >opened.sh && echo '{"image": "none", "initializeCommand": "sh opened.sh"}' >.devcontainer/devcontainer.json && cd ../..
		git add . && git commit -q -m begin`)
	if os.Geteuid() == 0 { // the agent never is root
		command("chown -R 1000:1000 .")
	}
	top := r.Dir
	part := top + "/apps/web"
	r.Args, r.Dir = []string{r.Path, "run", "--print"}, part+"/src"
	r.begin(t, "do it")
	until(t, "the agent begins", func() bool { return exists(top + "/begun") })
	if code, _, said := call(t, "clean", part); code != 75 || !strings.Contains(said, "is used by a run on "+top) || !exists(part+"/.vscode") {
		t.Errorf("clean, where a run works: exit %d: %s", code, said)
	}
	devContainer, err := r.engine.Create(t.Context(), engine.Spec{
		Image: standIn(t, "part"), Labels: map[string]string{runplan.LabelFolder: part}, Process: engine.Process{Command: []string{"true"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.engine.Remove(context.WithoutCancel(t.Context()), devContainer) })
	command("echo >" + top + "/go")
	if code := endOf(t, r); code != exitOK {
		t.Fatalf("ends with %d: %s", code, r.said(t))
	}
	if !exists(part + "/.vscode") {
		t.Error("the run's end took away what a dev container may have mounted")
	}
	if err := r.engine.Remove(t.Context(), devContainer); err != nil {
		t.Fatal(err)
	}
	folders := []string{part + "/src", part, top + "/apps", top}
	for _, dir := range folders {
		if code, _, said := call(t, "clean", dir); code != 0 {
			t.Errorf("clean %s: exit %d: %s", dir, code, said)
		}
	}
	for _, dir := range folders {
		if got := command("cd " + dir + " && git status --short >/dev/null; git rev-parse --show-toplevel"); got != top+"\n" || exists(mark) {
			t.Errorf("git obeys the agent in %s: %s", dir, got)
		}
	}
	said := r.said(t)
	if !strings.Contains(said, "web is a part of the repository "+top) {
		t.Errorf("the run does not say that it shows the repository:\n%s", said)
	}
	if written := command(
		"cat written 2>/dev/null || true; cat ../.devcontainer/sandbox.jsonc ../secret ../.cursor/rules ../opened.sh"); strings.Contains(written,
		"evil") ||
		strings.Contains(written, "/") && !strings.HasPrefix(written, "{") {
		t.Errorf("the agent wrote\n%s", written)
	}
	if err := exec.Command("sh", "-c", "! ls "+top+"/.vscode "+part+"/.vscode "+part+"/.claude "+part+"/.git "+part+"/refs "+top+"/apps/.git "+
		top+"/.devcontainer").Run(); err != nil {
		t.Error("a placeholder is left")
	}
	command(r.Path + " apply")
	if got := command("git log --branches='sbx/*' --not main --format='%an %s' --name-only"); got != "Ann Example The agent did it\n\n"+
		"apps/web/src/f\n" {
		t.Errorf("the branch has %q", got)
	}
}
