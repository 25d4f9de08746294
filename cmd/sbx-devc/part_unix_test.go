//go:build unix

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A part of a repository has a dev container of its own: git works there as anywhere in
// the repository, and the agent's commit comes back. Attack: the agent writes what the
// host obeys in that part, or in the repository.
func TestAttackAPartOfARepositoryWithADevContainerOfItsOwn(t *testing.T) {
	const agent = `test "$PWD" = /workspace/web/src && git log --format=%s | grep -q begin && echo two >f
		git add f && git commit -q -m 'The agent did it'
		for f in web/.devcontainer/sandbox.jsonc web/.vscode/tasks.json web/.cursor/rules web/secret web/.claude/x .devcontainer/x .vscode/tasks.json; do
			mkdir -p /workspace/${f%/*}; echo evil >/workspace/$f && echo $f >>written; done; true`
	r := runProgram(t, []string{scripted(t, agent), "XDG_CONFIG_HOME=" + t.TempDir(),
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}) // where root runs this, the project is not root's
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
		mkdir -p web/src web/.devcontainer web/.cursor && echo one >web/src/f && echo mine >web/secret && echo good >web/.cursor/rules
		echo '{"network": {"deny": ["docs.example.com"]}, "workspace": {"protect": ["secret"]}}' >web/.devcontainer/sandbox.jsonc
		git add . && git commit -q -m begin`)
	if os.Geteuid() == 0 { // the agent never is root
		command("chown -R 1000:1000 .")
	}
	top := r.Dir
	r.Args, r.Dir = []string{r.Path, "run", "--print"}, top+"/web/src"
	r.begin(t, "do it")
	if code := endOf(t, r); code != exitOK {
		t.Fatalf("ends with %d: %s", code, r.said(t))
	}
	said := r.said(t)
	if !strings.Contains(said, "web is a part of the repository "+top) {
		t.Errorf("the run does not say that it shows the repository:\n%s", said)
	}
	if written := command("cat written 2>/dev/null || true; cat ../.devcontainer/sandbox.jsonc ../secret ../.cursor/rules"); strings.Contains(written, "evil") ||
		strings.Contains(written, "/") && !strings.HasPrefix(written, "{") {
		t.Errorf("the agent wrote\n%s", written)
	}
	if err := exec.Command("sh", "-c", "! ls "+top+"/.vscode "+top+"/web/.vscode "+top+"/web/.claude "+top+"/.devcontainer").Run(); err != nil {
		t.Error("a placeholder is left")
	}
	command(r.Path + " apply")
	if got := command("git log --branches='sbx/*' --not main --format='%an %s' --name-only"); got != "Ann Example The agent did it\n\nweb/src/f\n" {
		t.Errorf("the branch has %q", got)
	}
}
