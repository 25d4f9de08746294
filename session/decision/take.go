package decision

import (
	"context"
	"fmt"
	"slices"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/session/review"
	"github.com/org/claude-sandbox/session/runs"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// OpenToTake opens a run that has something to take, or had: commits, or files of a copy. It
// errs while the run goes on, and where its copy is gone before all was decided.
func OpenToTake(h runs.Home, folder string) (*Run, error) {
	if r, ok := h.Run(folder); ok && r.GoesOn() {
		return nil, exitcode.With(exitcode.NoInput, diag.WithHint(fmt.Errorf("the run %s goes on: its commits are taken when it ends", r.ID),
			"'sbx-devc stop %s' ends it and keeps its work", r.ID))
	}
	r, err := Open(folder)
	switch {
	case err != nil || len(r.Commits) > 0:
		return r, err
	case !r.InPlace() && r.Gone && r.Undecided() > 0:
		return nil, r.goneError()
	case !r.InPlace():
		return r, nil
	}
	err = fmt.Errorf("the agent of the run %s made no commits in %s", r.Work.Run, r.Project)
	if len(r.Review.Files) > 0 {
		err = diag.WithHint(err, "the files that it changed are there already: sbx-devc review %s; "+
			"with 'run --commit' the last commit has what the agent leaves", r.Work.Run)
	}
	return nil, exitcode.With(exitcode.NoInput, err)
}

// goneError says that nothing of the run's copy can be taken any more.
func (r *Run) goneError() error {
	err := fmt.Errorf("the copy of the project in which the run %s worked is gone, and nothing of it can be taken", r.Work.Run)
	return exitcode.With(exitcode.NoInput, diag.WithHint(err, "its changes of texts are in 'sbx-devc diff %s'", r.Work.Run))
}

// HasFiles reports that the run worked on a copy, with undecided changes.
func (r *Run) HasFiles() bool { return !r.InPlace() && !r.Gone && r.Undecided() > 0 }

// NoteBranches remembers that the branches of commits are taken, or that they are not wanted.
func (r *Run) NoteBranches(of []gitdir.Commits, taken bool) error {
	for _, c := range of {
		r.Taken[c.Branch] = taken
	}
	return r.Taken.Save(r.Folder)
}

// Offered reviews everything that there is to take: the files of a copy, and the branches
// that the project does not have.
func (r *Run) Offered(ctx context.Context) (reviews []*review.Review, err error) {
	if r.HasFiles() {
		reviews = append(reviews, r.Review)
	}
	for _, bundled := range r.Commits {
		for _, c := range bundled {
			if gitdir.IsApplied(ctx, c) {
				continue
			}
			of, err := r.ofCommits(ctx, c, bundled)
			if err != nil {
				return nil, exitcode.With(exitcode.Failed, err)
			}
			reviews = append(reviews, of)
		}
	}
	return reviews, nil
}

// HasBranches reports whether a branch that was made of the run's commits is there.
func (r *Run) HasBranches(ctx context.Context) bool {
	for _, bundled := range r.Commits {
		if slices.ContainsFunc(bundled, func(c gitdir.Commits) bool { return gitdir.IsApplied(ctx, c) }) {
			return true
		}
	}
	return false
}

// DropBranches removes the branches that were made of the run's commits, and returns those
// that it removed.
func (r *Run) DropBranches(ctx context.Context) (dropped []gitdir.Commits, errs []error) {
	for _, bundled := range r.Commits {
		for _, c := range bundled {
			done, err := gitdir.Drop(ctx, c)
			if done {
				dropped = append(dropped, c)
			}
			if err != nil {
				errs = append(errs, err)
			}
		}
	}
	return dropped, errs
}
