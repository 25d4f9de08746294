//go:build unix

package sandbox

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/engine"
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
	if said := strings.Join(Reap(t.Context(), tr.live, connect), "\n"); !strings.Contains(said, "commit is kept") && !strings.Contains(said, "commits are kept") {
		t.Errorf("the next start says %q", said)
	}
	if left, err := e.List(t.Context(), runplan.LabelRun, tr.plan.ID); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
