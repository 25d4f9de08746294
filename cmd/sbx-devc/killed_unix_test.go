//go:build unix

package main

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/fakeapi"
)

// killed begins a run and kills its program outright when the agent is done and waits.
func killed(t *testing.T, command string, args ...string) *committing {
	t.Helper()
	r := startCommitting(t, command+" && touch /tmp/done; sleep 600", args...)
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
	return r
}

// The program of a run on a copy is killed outright. Its agent's work is a review away, as
// after any other end, and what it holds of the run's secrets is found by the values that they
// have now.
func TestAKilledRunOnACopyIsReviewed(t *testing.T) {
	t.Parallel()
	const canary = "c4nary-Copied-18d2ff"
	source := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(source, []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	r := killed(t,
		`echo two >>sub/a.txt && echo "key=$CANARY" >leak.txt && mkdir -p .github/workflows && echo on: push >.github/workflows/x.yml`,
		"--workspace", "copy", "--secret", "CANARY=file:"+source)
	code, out, people := r.shell(t, r.project, "sbx-devc review")
	if code != exitOK || !strings.Contains(people, "is in a copy of the project: sbx-devc review ") || strings.Contains(out, canary) ||
		!strings.Contains(out, "leak.txt") || !strings.Contains(out, "the value of CANARY") || strings.Contains(out, "not searched") {
		t.Errorf("review ends with %d: %s%s", code, out, people)
	}
	if left := r.containers(t, "-a"); len(left) > 0 {
		t.Errorf("containers are left: %q", left)
	}
	if code, out, people := r.shell(t, r.project, "sbx-devc diff"); code != exitOK || !strings.Contains(out, "+two\n") ||
		!strings.Contains(out, "+on: push\n") || !strings.Contains(out, "+key=****") {
		t.Errorf("diff ends with %d: %s%s", code, out, people)
	}
	if found, _ := exec.Command("grep", "-rlI", "--exclude-dir=tree", "-e", canary, filepath.Dir(r.state())).Output(); len(found) > 0 {
		t.Errorf("the secret is in %s", found)
	}
	if code, out, people := r.shell(t, r.project, "sbx-devc apply"); code != exitRefused ||
		!strings.Contains(people+out, ".github/workflows/x.yml") {
		t.Errorf("apply ends with %d: %s%s", code, out, people)
	}
	if code, out, people := r.shell(t, r.project, "sbx-devc apply --accept-dangerous '**'"); code != exitOK {
		t.Errorf("apply ends with %d: %s%s", code, out, people)
	}
	if status := r.git(t, r.project, "status", "--short",
		"--untracked-files=all"); status != " M sub/a.txt\n?? .github/workflows/x.yml\n?? leak.txt\n" {
		t.Errorf("the project has\n%s", status)
	}
}

// The program of a run is killed outright in the middle of a conversation. The next run goes
// on with it.
func TestTheConversationOfAKilledRunGoesOn(t *testing.T) {
	t.Parallel()
	r := runProgram(t, []string{scripted(t, "touch begun; sleep 600")}, "remember the MANGO")
	r.begin(t, "")
	until(t, "the agent works", func() bool { return exists(filepath.Join(r.Dir, "begun")) })
	if err := r.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = r.Wait()
	api := &fakeapi.Server{APIKey: "sk-ant-key-of-this-test", Script: fakeapi.Script{Final: "noted"}}
	upstream := httptest.NewServer(api)
	t.Cleanup(upstream.Close)
	next := runProgram(t, nil, "--continue", "which fruit?")
	next.Args[2], next.Dir, next.Env = r.Dir, r.Dir, append(r.Env, "SBX_DEVC_UPSTREAM="+upstream.URL)
	next.begin(t, "")
	if code := endOf(t, next); code != exitOK {
		t.Fatal(next.said(t))
	}
	if all := api.Requests(); len(all) == 0 || !strings.Contains(all[len(all)-1].Body, "MANGO") {
		t.Errorf("the model does not know the conversation; said: %s", next.said(t))
	}
}

// The program of a run in the project itself is killed outright, with a secret that is not
// where it was. The agent's work can be reviewed and taken back, and what the user did since
// stays. Attack: the agent makes a repository whose configuration names a program. Git on this
// machine, which is asked in each folder, runs nothing.
func TestAttackAKilledRunLeavesARepository(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(source, []byte("c4nary-Gone-7be203"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := killed(t,
		`git init -q lib && git -C lib config core.fsmonitor 'touch $(git rev-parse --show-toplevel)/../ran; false' && echo x >lib/x &&
echo theirs >theirs.txt && echo two >>sub/a.txt`, "--secret", "CANARY=file:"+source)
	if err := os.Remove(source); err != nil {
		t.Fatal(err)
	}
	r.write(t, "sub/a.txt", "the user's own\n")
	r.write(t, "mine.txt", "the user's own\n")
	_, _, said := r.shell(t, r.project, "sbx-devc run --print </dev/null")
	if !strings.Contains(said, "ended without its program: ") || !strings.Contains(said, "lib") ||
		!strings.Contains(said, "is in the project: sbx-devc review ") {
		t.Errorf("the next start says %s", said)
	}
	_, out, people := r.shell(t, filepath.Join(r.project, "lib"), "git -c safe.directory='*' status --short")
	if exists(filepath.Join(r.project, "ran")) {
		t.Errorf("git has run the agent's program: %s%s", out, people)
	}
	code, out, people := r.shell(t, r.project, "sbx-devc review")
	if code != exitOK || !strings.Contains(out, "theirs.txt") || !strings.Contains(out, "not searched for the value of CANARY") {
		t.Errorf("review ends with %d: %s%s", code, out, people)
	}
	if _, out, _ := r.shell(t, r.project, "sbx-devc diff --stat"); !strings.Contains(out, "sub/a.txt   changed after the run had ended") {
		t.Errorf("diff: %s", out)
	}
	if code, out, people = r.shell(t, r.project, "sbx-devc discard --yes"); code != exitFailed ||
		!strings.Contains(people, "! sub/a.txt: it has changed since") {
		t.Errorf("discard ends with %d: %s%s", code, out, people)
	}
	for name, want := range map[string]string{"sub/a.txt": "the user's own\n", "mine.txt": "the user's own\n", "theirs.txt": ""} {
		if text, _ := os.ReadFile(filepath.Join(r.project, name)); string(text) != want {
			t.Errorf("%s holds %q", name, text)
		}
	}
}
