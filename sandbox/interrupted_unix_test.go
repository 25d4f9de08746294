//go:build unix

package sandbox

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
)

// A person who is tired of waiting presses Ctrl-C after the agent's end, before its commits
// are taken: they stay with the firewall's container, and the next start takes them.
func TestCommitsOutliveASignalAtTheEnd(t *testing.T) {
	t.Parallel()
	e := connect(t)
	r := newRepository(t)
	o := shell(`set -e; cd /workspace; git commit -q --allow-empty -m mine; echo left >left; echo ready`)
	o.CommitLeft = true // its container shows that the agent has ended
	signals := make(chan os.Signal)
	tr := &trial{options: o, dir: r.dir, live: t.TempDir(), keeps: true, signals: signals}
	tr.during = func(p *runplan.Plan, _ *workspace.Workspace) {
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if labels, err := e.Labels(t.Context(), "sbx-devc-"+p.ID+"-commit"); err == nil && labels != nil {
				signals <- syscall.SIGINT
				return
			}
		}
		t.Error("nothing was committed for the agent")
	}
	tr.run(t, e)
	if warned := strings.Join(tr.result.Warnings, "\n"); tr.result.ExitCode != 130 || len(tr.result.Commits) > 0 ||
		!strings.Contains(warned, "it is in the container "+runplan.FirewallContainer(tr.plan.ID)) {
		t.Errorf("exit code %d, commits %+v, warnings %s", tr.result.ExitCode, tr.result.Commits, warned)
	}
	connect := func(context.Context) (*engine.Engine, error) { return engine.Connect(t.Context()) }
	if said := strings.Join(Reap(t.Context(), tr.live, connect, nil), "\n"); !strings.Contains(said, "commit is kept") &&
		!strings.Contains(said, "commits are kept") {
		t.Errorf("the next start says %q", said)
	}
	if left, err := e.List(t.Context(), runplan.LabelRun, tr.plan.ID); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// What the user's own command writes while the agent of a run works, as allow does, is no
// change of the run, also where the run's program was killed.
func TestTheUsersWordDuringAKilledRun(t *testing.T) {
	for name, tt := range map[string]struct {
		settings, secret bool // the settings were in a part of the project; the run had secrets
	}{"InTheProject": {}, "InAPart": {settings: true}, "WithSecrets": {secret: true}} {
		t.Run(name, func(t *testing.T) {
			dir, state := t.TempDir(), t.TempDir()
			n := liveRun{ID: "r", Folder: dir, StateDir: state, Secrets: tt.secret, Begun: true}
			file := filepath.Join(dir, ".devcontainer", "sandbox.jsonc")
			if tt.settings {
				n.Settings = filepath.Join(dir, "part")
				file = filepath.Join(n.Settings, ".devcontainer", "sandbox.jsonc")
			}
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			write := func(name, text string) {
				if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			write(file, "{}\n")
			before, err := changes.Take(t.Context(), dir, changes.Options{Keep: state})
			if err == nil {
				err = before.Save(state)
			}
			if err != nil {
				t.Fatal(err)
			}
			const word = "{\"network\": {}}\n"
			write(file, word)
			write(filepath.Join(dir, "theirs.txt"), "x\n")
			accepted := func(of string) map[string][]byte {
				if of != cmp.Or(n.Settings, dir) {
					t.Errorf("asked for the settings in %s", of)
				}
				return map[string][]byte{file: []byte(word), "/elsewhere": nil}
			}
			n.AgentEnded = time.Now()
			if said := rescueChanges(t.Context(), n, accepted); len(said) == 0 {
				t.Error("nothing is said of the agent's work")
			}
			if tt.secret { // whoever reviews it looks once more
				if _, err := changes.Finish(t.Context(), state, nil, true, changes.AcceptedIn(dir, accepted(dir))); err != nil {
					t.Fatal(err)
				}
			}
			set, err := os.ReadFile(filepath.Join(state, changes.SetFile))
			if err != nil || !strings.Contains(string(set), "theirs.txt") || strings.Contains(string(set), "sandbox.jsonc") {
				t.Errorf("the run's changes: %v %s", err, set)
			}
		})
	}
}
