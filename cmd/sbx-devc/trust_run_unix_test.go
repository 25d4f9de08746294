//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
)

// Two commands from a repository to the agent's work in it: no flag and no question
// after init's own, from a subfolder. An entry that the project's file asks for later
// is refused.
func TestInitThenRunFromASubfolder(t *testing.T) {
	r := runProgram(t, []string{scripted(t, "pwd > where.txt"), "XDG_CONFIG_HOME=" + t.TempDir()})
	project := r.Dir
	// init and run work as the same user, in a repository of his.
	lib := filepath.Join(project, "lib")
	if err := os.Mkdir(lib, 0o755); err != nil {
		t.Fatal(err)
	}
	own := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = project, r.Env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
	}
	own("git", "-c", "safe.directory=*", "init", "-q")
	own(r.Path, "init", "--yes", "--no-detect", "--preset", "npm")
	if os.Geteuid() == 0 {
		own("chown", "-R", "1000:1000", ".") // the agent never is root
	}
	r.Args, r.Dir = []string{r.Path, "run", "-p"}, lib
	r.begin(t, "look where you are")
	if code := endOf(t, r); code != exitOK {
		t.Fatalf("ends with %d: %s", code, r.said(t))
	}
	if where, err := os.ReadFile(filepath.Join(lib, "where.txt")); err != nil || string(where) != "/workspace/lib\n" {
		t.Errorf("the agent works in %q, %v", where, err)
	}
	policies, _ := filepath.Glob(filepath.Join(r.state(), "runs", "*", "policy.json"))
	if len(policies) != 1 {
		t.Fatalf("%q: %s", policies, r.said(t))
	}
	if policy, err := os.ReadFile(policies[0]); err != nil || !strings.Contains(string(policy), `"npm"`) {
		t.Errorf("the run has the policy %s, %v", policy, err)
	}

	name := filepath.Join(project, projects.DefaultSettings)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	more := strings.Replace(string(text), `"allow": [`, `"allow": ["evil.example.com"`, 1)
	if more == string(text) {
		t.Fatalf("init wrote no list:\n%s", text)
	}
	if err := os.WriteFile(name, []byte(more), 0o644); err != nil {
		t.Fatal(err)
	}
	again := exec.Command(r.Path, "run", "-p", "say it")
	again.Dir, again.Env = lib, r.Env
	out, err := again.CombinedOutput()
	if again.ProcessState.ExitCode() != exitRefused || !strings.Contains(string(out), "evil.example.com") ||
		!strings.Contains(string(out), "sbx-devc trust") {
		t.Errorf("a changed file: %v\n%s", err, out)
	}
}
