//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A run on a copy under a profile leaves the project alone until its work is applied, the
// next run finds what Claude noted, and so does the one after a run that was killed, whose
// copy is kept.
func TestAProfileAndACopySurviveAKill(t *testing.T) {
	t.Parallel()
	state, project := t.TempDir(), t.TempDir()
	if os.Geteuid() == 0 { // the agent never is root
		if err := os.Chown(project, 1000, 1000); err != nil {
			t.Fatal(err)
		}
	}
	start := func(script string) *programRun {
		t.Helper()
		r := runProgram(t, []string{"XDG_STATE_HOME=" + state, scripted(t, script)})
		r.Args, r.Dir = []string{r.Path, "run", project, "--print", "--no-cache", "--profile", "work", "--workspace", "copy"}, project
		r.begin(t, "do it")
		return r
	}
	end := func(r *programRun) string {
		t.Helper()
		if code := endOf(t, r); code != exitOK {
			t.Fatalf("ends with %d: %s", code, r.said(t))
		}
		return r.said(t)
	}
	trees := func() []string {
		found, _ := filepath.Glob(filepath.Join(state, "sbx-devc", "runs", "*", "tree"))
		return found
	}
	said := end(start("mkdir -p ~/.claude/plans && echo first >~/.claude/plans/a.md; echo done >done.txt"))
	first := trees()
	if _, err := os.Lstat(filepath.Join(project, "done.txt")); err == nil || len(first) != 1 ||
		!strings.Contains(said, "until you apply or discard it") {
		t.Fatalf("trees %q: %s", first, said)
	}
	apply := exec.Command(builtProgram(t), "apply", filepath.Base(filepath.Dir(first[0])))
	apply.Env = append(os.Environ(), "XDG_STATE_HOME="+state)
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("apply: %v: %s", err, out)
	}
	if text, err := os.ReadFile(filepath.Join(project, "done.txt")); err != nil || string(text) != "done\n" {
		t.Errorf("after apply: %q, %v", text, err)
	}

	killed := start("cp ~/.claude/plans/a.md found; echo second >~/.claude/plans/b.md; touch marker; sleep 600 & wait")
	var marker string
	until(t, "the agent came so far", func() bool {
		for _, tree := range trees() {
			if exists(filepath.Join(tree, "marker")) {
				marker = tree
			}
		}
		return marker != ""
	})
	second := runProgram(t, []string{"XDG_STATE_HOME=" + state, scripted(t, "true")})
	second.Args = []string{second.Path, "run", project, "--print", "--profile", "work", "--no-cache"}
	second.begin(t, "do it")
	if code := endOf(t, second); code != exitLocked ||
		!strings.Contains(second.said(t), "the profile work of this project is in use by the run") {
		t.Errorf("a second writer ends with %d: %s", code, second.said(t))
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	if text, err := os.ReadFile(filepath.Join(marker, "found")); err != nil || string(text) != "first\n" {
		t.Errorf("the killed run found %q, %v", text, err)
	}

	said = end(start("cat ~/.claude/plans/*.md >both"))
	var both string
	for _, tree := range trees() {
		if text, err := os.ReadFile(filepath.Join(tree, "both")); err == nil {
			both = string(text)
		}
	}
	if _, err := os.Lstat(filepath.Join(marker, "marker")); err != nil || both != "first\nsecond\n" {
		t.Errorf("after the kill: %v, the agent finds %q: %s", err, both, said)
	}
}
