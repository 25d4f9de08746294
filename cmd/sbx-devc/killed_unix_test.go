//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// killedOnce begins a run, kills its program outright when the agent is done and waits, and
// returns what the next start says.
func killedOnce(t *testing.T, command string, args ...string) (r *committing, said string) {
	t.Helper()
	r = startCommitting(t, command+" && touch /tmp/done; sleep 600", args...)
	until(t, "the agent is done", func() bool {
		for _, id := range r.containers(t) {
			if code, _, _ := r.shell(t, r.project, "docker exec "+id+" test -e /tmp/done"); code == exitOK {
				return true
			}
		}
		return false
	})
	if err := r.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = r.Wait()
	until(t, "the containers end", func() bool { return len(r.containers(t)) == 0 })
	_, _, said = r.shell(t, r.project, "sbx-devc run --print </dev/null")
	return r, said
}

// The program of a run on a copy is killed outright. Its agent's work is a review away, as
// after any other end.
func TestAKilledRunOnACopyIsReviewed(t *testing.T) {
	t.Parallel()
	r, said := killedOnce(t, "echo two >>sub/a.txt && mkdir -p .github/workflows && echo on: push >.github/workflows/x.yml", "--workspace", "copy")
	if !strings.Contains(said, "is in a copy of the project: sbx-devc review ") {
		t.Errorf("the next start says %s", said)
	}
	if code, out, people := r.shell(t, r.project, "sbx-devc diff"); code != exitOK || !strings.Contains(out, "+two\n") || !strings.Contains(out, "+on: push\n") {
		t.Errorf("diff ends with %d: %s%s", code, out, people)
	}
	if code, out, people := r.shell(t, r.project, "sbx-devc apply"); code != exitRefused || !strings.Contains(people+out, ".github/workflows/x.yml") {
		t.Errorf("apply ends with %d: %s%s", code, out, people)
	}
	if code, out, people := r.shell(t, r.project, "sbx-devc discard --yes"); code != exitOK {
		t.Errorf("discard ends with %d: %s%s", code, out, people)
	}
	if status := r.git(t, r.project, "status", "--short"); status != "" {
		t.Errorf("the project has\n%s", status)
	}
}

// Attack: the agent makes a repository whose configuration names a program, and has the
// program of its run killed. Git on this machine, which is asked in each folder, runs nothing.
func TestAttackAKilledRunLeavesARepository(t *testing.T) {
	t.Parallel()
	r, said := killedOnce(t, `git init -q lib && git -C lib config core.fsmonitor 'touch $(git rev-parse --show-toplevel)/../ran; false' && echo x >lib/x`)
	if !strings.Contains(said, "ended without its program: ") || !strings.Contains(said, "lib") {
		t.Errorf("the next start says %s", said)
	}
	_, out, people := r.shell(t, filepath.Join(r.project, "lib"), "git -c safe.directory='*' status --short")
	if exists(filepath.Join(r.project, "ran")) {
		t.Errorf("git has run the agent's program: %s%s", out, people)
	}
}
