package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace/copytree"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// rescueTries is how often the commits of a dead run are tried to be taken. The
// agent decides how long one try takes, at most takeTimeout, and a person waits
// for something else meanwhile.
const rescueTries = 3

// rescue saves what goes with a dead run's containers and their volumes, and
// returns lines for people. An error keeps the firewall's container, which holds
// the volumes.
func rescue(ctx context.Context, e *engine.Engine, n liveRun) (said []string, err error) {
	rescueAudit(ctx, e, n)
	if said, err = rescueCommits(ctx, e, n); err != nil {
		return said, err // tried again, with the agent's home
	}
	notes, err := rescueTree(ctx, e, n)
	for _, note := range notes {
		said = append(said, fmt.Sprintf("warning: the run %s: %s", n.ID, note))
	}
	if err != nil {
		return said, err
	}
	for _, take := range []func(context.Context, *engine.Engine, liveRun) ([]string, error){rescueConversations, rescueHome} {
		notes, err := take(ctx, e, n)
		if said = append(said, notes...); err != nil {
			return said, err
		}
	}
	return said, nil
}

// rescueCommits takes the agent's commits into the run's folder, as a run does at
// its end, and notes them in the run's summary, where 'sbx-devc apply' finds them.
// It ends the agent first. A run whose folder is gone has no place for them.
func rescueCommits(ctx context.Context, e *engine.Engine, n liveRun) (said []string, err error) {
	labels, err := e.Labels(ctx, runplan.FirewallContainer(n.ID))
	if err != nil || labels == nil {
		return nil, err
	}
	if err := e.Remove(ctx, runplan.AgentContainer(n.ID)); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(n.StateDir); errors.Is(err, fs.ErrNotExist) {
		return []string{fmt.Sprintf("warning: the folder %s of the run %s is gone; commits that its agent made are "+
			"not kept", n.StateDir, n.ID)}, nil
	}
	commits, notes, err := TakeCommits(ctx, e, n.ID, n.StateDir, layoutOf(labels[labelGit]), nil)
	if n.Secrets { // whose values are not known any more
		for i := range commits {
			commits[i].Unsearched = true
		}
	}
	if saveErr := n.saveCommits(commits, notes); saveErr != nil {
		return nil, errors.Join(err, saveErr)
	}
	for _, note := range notes {
		said = append(said, fmt.Sprintf("warning: the run %s: %s", n.ID, note))
	}
	count := 0
	for _, c := range commits {
		count += c.Count
	}
	if count > 0 {
		unsearched := ""
		if n.Secrets {
			unsearched = ", not searched for the run's secrets yet, as 'apply' does"
		}
		said = append(said, fmt.Sprintf("the run %s did not end in order; its %s kept%s: sbx-devc apply %s", n.ID, areCommits(count),
			unsearched, n.applyName()))
	}
	return said, err
}

func areCommits(n int) string {
	if n == 1 {
		return "1 commit is"
	}
	return fmt.Sprintf("%d commits are", n)
}

// applyName is how 'sbx-devc apply' is told the run: a folder of another name, as
// a workflow has, by its path.
func (n liveRun) applyName() string {
	if filepath.Base(n.StateDir) == n.ID {
		return n.ID
	}
	return n.StateDir
}

// saveCommits writes commits and warnings into the run's summary.
func (n liveRun) saveCommits(commits []gitdir.Commits, warnings []string) error {
	if len(commits) == 0 && len(warnings) == 0 {
		return nil
	}
	err := n.amendSummary(func(summary map[string]any) {
		said, _ := summary["warnings"].([]any)
		for _, w := range warnings {
			said = append(said, visible.Line(w))
		}
		summary["commits"], summary["warnings"] = commits, said
	})
	if err != nil {
		return fmt.Errorf("noting the agent's commits: %w", err)
	}
	return nil
}

// amendSummary changes the summary that the run left in its folder at its start. All else in it
// stays.
func (n liveRun) amendSummary(change func(summary map[string]any)) error {
	name := filepath.Join(n.StateDir, SummaryFile)
	summary := map[string]any{"schemaVersion": 1, "id": n.ID, "folder": n.Folder}
	if n.Secrets {
		summary["secretSources"] = Sources{Unknown: true}
	}
	text, err := os.ReadFile(name)
	if err == nil {
		in := json.NewDecoder(bytes.NewReader(text))
		in.UseNumber()
		err = in.Decode(&summary)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		change(summary)
		text, err = json.MarshalIndent(summary, "", "  ")
	}
	if err == nil {
		err = atomicfile.WriteBytes(name, 0o600, append(text, '\n'))
	}
	return err
}

// rescueChanges looks for what the agent of a dead run changed, as a run does at its end, so
// that a person can review it. The agent's container must be gone. In the project itself
// others may have worked since: changes after the agent's end are not taken back, the
// person hears what is dangerous there, and git on this machine does not obey repositories
// that are new. If the run had secrets the record stays, and the person who reviews the changes
// looks for the values that they have now.
func rescueChanges(ctx context.Context, n liveRun, accepted func(dir string) map[string][]byte) (said []string) {
	unknown := func(err error) []string {
		return append(said, fmt.Sprintf("warning: the changes by the agent of the run %s are not known: %v", n.ID, err))
	}
	before, err := changes.Reopen(n.StateDir, nil)
	tree := filepath.Join(n.StateDir, TreeFolder)
	if errors.Is(err, fs.ErrNotExist) { // its agent did not begin, or could change nothing
		if !n.Begun {
			_ = copytree.Remove(ctx, tree)
		}
		return nil
	}
	if err != nil {
		return unknown(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout) // who reaps has less time
	defer cancel()
	inPlace := !filekind.IsFolder(tree)
	if inPlace {
		before.EndedAt(n.AgentEnded)
		if accepted != nil {
			before.Accept(changes.AcceptedIn(n.Folder, accepted(cmp.Or(n.Settings, n.Folder))))
		}
	}
	set := before.Compare(ctx)
	if inPlace {
		if err := disarm(ctx, n.Folder, set, (&runplan.Plan{}).Redactor(nil)); err != nil {
			said = append(said, "warning: "+err.Error())
		}
		for _, w := range append(set.Warnings(maxNamed), set.RepositoryWarnings(maxNamed)...) {
			said = append(said, fmt.Sprintf("warning: the run %s ended without its program: %s", n.ID, w))
		}
	}
	switch {
	case set.Empty():
		if err = before.Close(); !inPlace {
			err = errors.Join(err, copytree.Remove(ctx, tree))
		}
		if err != nil {
			said = append(said, fmt.Sprintf("warning: the copies that the run %s made stay: %v", n.ID, err))
		}
		return said
	case n.Secrets:
		if err := before.Leave(n.AgentEnded); err != nil {
			return unknown(err)
		}
	default:
		if err := set.Save(n.StateDir); err != nil {
			return unknown(errors.Join(err, before.Leave(n.AgentEnded)))
		}
		_ = before.Close()
	}
	where := "is in a copy of the project"
	if inPlace {
		where = "is in the project"
	}
	return append(said, fmt.Sprintf("the agent's work in the run %s, which ended without its program, %s: sbx-devc review %s", n.ID, where,
		n.applyName()))
}

// rescueAudit copies the firewall's log into the run's folder, as a run does at
// its end. It can only try: a firewall that never started has none.
func rescueAudit(ctx context.Context, e *engine.Engine, n liveRun) {
	name := filepath.Join(n.StateDir, AuditFile)
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return // the run came so far itself
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return // its folder is gone
	}
	_ = e.CopyOut(ctx, runplan.FirewallContainer(n.ID), runplan.AuditPath+audit.RotatedSuffix, f)
	err = errors.Join(e.CopyOut(ctx, runplan.FirewallContainer(n.ID), runplan.AuditPath, f), f.Close())
	if info, statErr := os.Stat(name); err != nil && statErr == nil && info.Size() == 0 {
		_ = os.Remove(name)
	}
}
