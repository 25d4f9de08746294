package changes

import (
	"os/exec"
	"strings"
	"testing"
)

// The line that takes a run's commits is pasted a second time, when another run's commits
// were taken: it loses none of them, and says that it did nothing.
func TestTheLineThatTakesCommitsIsPastedLate(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh")
	}
	dir := t.TempDir()
	run := func(line string) string {
		t.Helper()
		cmd := exec.Command(sh, "-c", line)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	const commit = "git -c user.name=t -c user.email=t@example.com commit -q --allow-empty -m "
	run("git init -q -b main . && " + commit + "first && git branch sbx/one && git branch sbx/two")
	run("git checkout -q sbx/one && " + commit + "one && git checkout -q sbx/two && " + commit + "two && git checkout -q main")
	if out := run(takeCommand("git", "sbx/one", true)); out != "" || run("git log -1 --format=%s") != "one" {
		t.Errorf("it is not taken: %s", out)
	}
	if out := run(takeCommand("git", "sbx/two", true)); !strings.Contains(out, "not done") || !strings.Contains(out, "sbx/two") {
		t.Errorf("it says %q", out)
	}
	if last := run("git log -1 --format=%s"); last != "one" {
		t.Errorf("the last commit is %q: the first run's is lost", last)
	}
}
