package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// labelGit is the layout of the agent's own git directories, on the sidecar's
// container, so that the commits of a run that was killed can be taken, too.
const labelGit = "sbx-devc.git"

// takeTimeout bounds taking the commits: the agent decides how much there is.
const takeTimeout = 30 * time.Second

// TakeCommits takes the commits that the agent of the run made out of the
// volumes of its firewall's container, running or not, and writes them as
// bundles into folder, the run's. The agent's container must have ended.
// secrets is what they are searched for; nil = nothing. The notes name what git refuses.
// With an error a volume could not be read to its end, and the commits are those of the
// other volumes.
func TakeCommits(ctx context.Context, e *engine.Engine, id, folder string, git gitdir.Layout, secrets *redact.Finder) (
	commits []gitdir.Commits, notes []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, takeTimeout)
	defer cancel()
	t := &gitdir.Taker{Run: id, Folder: folder, Secrets: secrets}
	var errs []error
	for _, p := range git.Private {
		if len(p.Stores) == 0 {
			continue
		}
		errs = append(errs, takeFolder(ctx, e, runplan.FirewallContainer(id), p.Volume, func(in io.Reader) error { return t.Take(ctx, p, in) }))
	}
	commits, notes = t.Taken()
	return commits, notes, errors.Join(errs...)
}

// layoutOf reads labelGit.
func layoutOf(label string) (git gitdir.Layout) {
	_ = json.Unmarshal([]byte(label), &git) // one of another version has no volumes
	return git
}

// layoutLabel is what labelGit holds.
func layoutLabel(git gitdir.Layout) string {
	text, _ := json.Marshal(git) // of strings alone
	return string(text)
}

// takeCommits fills in the result's commits and says that they are there. left are
// those of what the agent had not committed.
func (r *run) takeCommits(ctx context.Context, left []string) {
	var notes []string
	var err error
	r.result.Commits, notes, err = TakeCommits(ctx, r.engine, r.plan.ID, string(r.folder), r.plan.Project.Git, r.search.secrets)
	if err != nil {
		notes = append(notes, fmt.Sprintf("not all of the agent's commits come back: %v", err))
		r.notices.lose("commits")
	}
	if cause := context.Cause(ctx); cause != nil && err == nil && len(notes) > 0 { // git was ended on the way
		err = cause
	}
	if r.live != nil && (canBeTakenLater(err) || errors.Is(err, context.DeadlineExceeded) || err != nil && ctx.Err() != nil) {
		r.notices.untaken = err
	}
	lost := false
	for _, n := range notes {
		r.notices.warn(n)
		lost = lost || strings.Contains(n, "not come back") || err != nil
	}
	if mode := r.plan.Place.Mode; lost && r.notices.untaken == nil && (mode == workspace.Bind || mode.IsCopy()) {
		r.notices.warn(lostCommits(r.plan))
	}
	for _, c := range r.result.Commits {
		line := fmt.Sprintf("the agent made %s on %s", visible.Count(c.Count, "commit"), cmp.Or(c.From, "no branch"))
		if c.Repository != "" {
			line += " in " + c.Repository
		}
		if slices.Contains(left, c.Head) {
			line += ", the last one of what it left uncommitted"
		}
		r.host.Say(line)
		for _, name := range c.SecretNames() {
			r.notices.warn(secretInCommits(r.plan, name, c.Branch))
		}
	}
	if r.plan.Asked.InputsNotFlags && len(r.result.Commits) > 0 { // a workflow has git, and no sbx-devc on its PATH
		bundle := r.folder.path(r.result.Commits[0].Bundle)
		r.host.Say(fmt.Sprintf("your repository has none of its commits yet; to add them as branches: git fetch '%s' "+
			"'refs/heads/sbx/*:refs/heads/sbx/*'", bundle))
	}
}

// lostCommits says what stays of commits that do not come back.
func lostCommits(p *runplan.Plan) string {
	return "of these commits only the files stay that the agent left in " + p.Project.Dir + ": " +
		p.Asked.Words("look at them with 'sbx-devc review', and commit them yourself", "changed_files and patch_file have what changed in them")
}

func secretInCommits(p *runplan.Plan, name, branch string) string {
	return "the value of the secret " + name + " stands in commits of " + branch + ": " +
		p.Asked.Words("'sbx-devc apply' asks about them", "look at them before you push")
}

func secretInFiles(p *runplan.Plan, name string) string {
	return "the value of the secret " + name + " stands in files that the agent wrote" +
		p.Asked.Words("; 'sbx-devc review' shows them first", ": look at them before you commit or push")
}
