package decision

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/shellword"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/session/runs"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// Purpose says which run a command is about when the user names none.
type Purpose struct {
	fits []fit  // the newest run for which the first one holds, else the newest for the second one, …
	open fit    // says of an earlier run that it waits for the user, too
	has  string // what that one has
	take bool   // commits count, and changes in the project itself do not
}

// fit says something of a run.
type fit func(*candidate) bool

// The purposes. Commands that look pass over runs without changes; those that decide pass
// over runs about which everything is decided.
var (
	ToShow   = Purpose{fits: []fit{(*candidate).changedFiles}}
	ToReview = Purpose{fits: []fit{(*candidate).isUndecided, (*candidate).changedFiles}, open: (*candidate).isUndecided,
		has: "undecided changes"}
	ToTake = Purpose{fits: []fit{(*candidate).isUntaken, (*candidate).hasResult, anyRun}, open: (*candidate).isUntaken,
		has: "something to take", take: true}
	// ToDiscard is for a person who sees which run is meant, and ToDiscardUnseen for a script:
	// called twice, it must not discard the run before as well.
	ToDiscard       = Purpose{fits: []fit{(*candidate).isOpen, (*candidate).left}, open: (*candidate).isOpen, has: "something to discard"}
	ToDiscardUnseen = Purpose{fits: []fit{(*candidate).left}, open: (*candidate).isOpen, has: "something to discard"}
)

// Meant is the run that a command is about.
type Meant struct {
	Folder string
	// Note is a sentence about the newest run of the project where another one is meant: its
	// reader would take the changes for those of the run that he remembers.
	Note string
	// Earlier is a sentence about a run before this one that waits for the user, too, with its
	// id in EarlierRun; "" = there is none, or the user named the run.
	Earlier, EarlierRun string
}

// Find is the run that name means, an id, a name or a folder; for "" it is the one of the
// project's for the purpose. It errs for a run that left nothing.
func Find(ctx context.Context, h runs.Home, project, name string, p Purpose) (m Meant, err error) {
	if name != "" && p.take {
		m.Folder, err = h.Folder(project, name)
		return m, err
	}
	if name != "" {
		m.Folder, err = named(h, name)
		return m, err
	}
	var list []*candidate
	for _, r := range h.List(project) {
		list = append(list, &candidate{ctx: ctx, run: r})
	}
	if len(list) == 0 { // the error names a run of another project
		m.Folder, err = h.Folder(project, "")
		return m, err
	}
	for _, fits := range append(slices.Clone(p.fits), (*candidate).isCompared) {
		i := slices.IndexFunc(list, fits)
		if i < 0 {
			continue
		}
		m.Folder = list[i].run.Folder
		if i > 0 {
			m.Note = list[0].passedOver(p)
		}
		if p.open == nil {
			return m, nil
		}
		if earlier := slices.IndexFunc(list[i+1:], p.open); earlier >= 0 {
			m.EarlierRun = list[i+1+earlier].run.ID
			m.Earlier = fmt.Sprintf("the earlier run %s has %s, too", m.EarlierRun, p.has)
		}
		return m, nil
	}
	err = fmt.Errorf("no run of %s in %s has changes to look at", project, h.Dir())
	return m, exitcode.With(exitcode.NoInput, diag.WithHint(err, "%s; name a run, or go to the project's folder", list[0].passedOver(p)))
}

// candidate is a run that may be meant. It is read once.
type candidate struct {
	ctx context.Context
	run runs.Run
	set *changes.Set // nil = it is not read yet, or cannot be
}

// isCompared reports whether the run kept what changed, or what Finish finds it with.
func (c *candidate) isCompared() bool { return hasChanges(c.run) }

// changedFiles reports whether the run changed files. Changes that cannot be read count:
// whoever opens them is told.
func (c *candidate) changedFiles() bool {
	if c.set == nil && c.isCompared() {
		if changes.IsLeft(c.run.Folder) {
			return true
		}
		set, err := changes.Load(c.run.Folder)
		if err != nil {
			return true
		}
		c.set = set
	}
	return !c.set.Empty()
}

// work is what the run worked on; nothing where its summary does not say.
func (c *candidate) work() runs.Work {
	w, err := runs.WorkOf(c.run.Folder)
	if err != nil {
		return runs.Work{}
	}
	return w
}

// isUndecided reports whether there are undecided changes of files, which can still be
// decided about.
func (c *candidate) isUndecided() bool {
	if !c.changedFiles() || c.work().Gone {
		return false
	}
	taken, err := Read(c.run.Folder)
	if err != nil || c.set == nil {
		return true
	}
	if len(taken) == 0 {
		return len(c.set.Changes)+len(c.set.Repositories) > 0
	}
	r := &Run{Folder: c.run.Folder, Taken: taken}
	return r.review() != nil || r.Undecided() > 0
}

// hasResult reports whether the run left something that can be taken, or could be once.
func (c *candidate) hasResult() bool {
	w := c.work()
	return len(w.Commits) > 0 || !w.InPlace() && c.changedFiles()
}

// isUntaken reports whether that was neither taken nor discarded.
func (c *candidate) isUntaken() bool {
	w := c.work()
	if !w.InPlace() && c.isUndecided() {
		return true
	}
	taken, _ := Read(c.run.Folder)
	return slices.ContainsFunc(slices.Concat(w.Commits...), func(of gitdir.Commits) bool {
		_, known := taken[of.Branch]
		return !known && !gitdir.IsApplied(c.ctx, of)
	})
}

func (c *candidate) left() bool   { return c.changedFiles() || c.hasResult() }
func (c *candidate) isOpen() bool { return c.isUndecided() || c.isUntaken() }
func anyRun(*candidate) bool      { return true }

// passedOver says why the run is not the one that is meant.
func (c *candidate) passedOver(p Purpose) string {
	switch {
	case c.run.GoesOn() || !c.isCompared() && !c.hasResult():
		return nothingToReview(c.run)
	case p.take && !c.hasResult():
		return fmt.Sprintf("the agent of the run %s made no commits", c.run.ID)
	case !c.left():
		return fmt.Sprintf("the run %s changed no file", c.run.ID)
	case p.take:
		return fmt.Sprintf("what the run %s left is taken or discarded already", c.run.ID)
	}
	return fmt.Sprintf("everything is decided about the run %s", c.run.ID)
}

// named is the folder of the run that name means.
func named(h runs.Home, name string) (string, error) {
	folder, err := h.Folder("", name)
	if err != nil || filekind.IsRegular(filepath.Join(folder, changes.SetFile)) {
		return folder, err
	}
	r, ok := h.Run(folder)
	if ok && hasChanges(r) {
		return folder, nil
	}
	if !ok {
		err := fmt.Errorf("%s is not the folder of a run", name)
		return "", exitcode.With(exitcode.NoInput, diag.WithHint(err, "runs are kept in %s", h.Dir()))
	}
	err = fmt.Errorf("%s is no run that kept what changed", name)
	return "", exitcode.With(exitcode.NoInput, diag.WithHint(err, "%s", nothingToReview(r)))
}

func hasChanges(r runs.Run) bool {
	return filekind.IsRegular(filepath.Join(r.Folder, changes.SetFile)) || changes.IsLeft(r.Folder) && !r.IsUnreaped()
}

// nothingToReview says why a run kept no changes.
func nothingToReview(r runs.Run) string {
	if err := r.CheckSandbox(); err != nil {
		return err.Error()
	}
	switch {
	case r.GoesOn():
		return fmt.Sprintf("the run %s goes on, and its changes are known when it ends", r.ID)
	case r.Workspace == "ro" || r.Workspace == "none":
		return fmt.Sprintf("the run %s has nothing to review: with --workspace %s its agent could change no file of the project",
			r.ID, r.Workspace)
	}
	if r.IsUnreaped() {
		return fmt.Sprintf("the program of the run %s was killed, and its work is taken when the engine answers that it was on", r.ID)
	}
	if tree := filepath.Join(r.Folder, sandbox.TreeFolder); filekind.IsFolder(tree) {
		return fmt.Sprintf("the run %s ended before it looked for changes; its agent's copy of the project is there: diff -r %s %s",
			r.ID, shellword.Quote(r.Project), shellword.Quote(tree))
	}
	return fmt.Sprintf("the run %s has nothing to review: its agent did not begin, or its program was killed", r.ID)
}
