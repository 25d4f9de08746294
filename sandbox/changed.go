package sandbox

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/workspace"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// maxNamed is how many paths one warning names.
const maxNamed = 20

// search is the look for what the agent changed.
type search struct {
	looked chan struct{}   // closed when the look before the run has ended
	before *changes.Before // the project's files before the run; nil until looked is closed
	err    error           // of that look
	found  <-chan *changes.Set
	// recorded is closed when the first look is on the disk; nil = it is not wanted there.
	recorded chan struct{}
}

func newSearch() *search { return &search{looked: make(chan struct{})} }

// wait waits for the end of the look before the run.
func (s *search) wait() error {
	<-s.looked
	if s.err != nil {
		return fmt.Errorf("%w: %w", ErrNoStart, s.err)
	}
	return nil
}

// record writes the look before the run into the run's folder keep, for Reap.
func (s *search) record(keep string) {
	if s.before == nil {
		return
	}
	s.recorded = make(chan struct{})
	go func() {
		defer close(s.recorded)
		_ = s.before.Save(keep) // else nobody can look, should this program be killed
	}()
}

// unused waits until nothing else uses the look before the run.
func (s *search) unused() {
	<-s.looked
	if s.recorded != nil {
		<-s.recorded
	}
}

// begin begins to look for what the agent changed; its container must have ended.
func (s *search) begin(ctx context.Context) {
	found := make(chan *changes.Set, 1)
	s.found = found
	go func() {
		s.unused()
		if s.before == nil { // then the agent never ran
			found <- nil
			return
		}
		found <- s.before.Compare(ctx)
	}()
}

// forget removes the copies that the look before the run made.
func (s *search) forget() {
	s.unused()
	if s.before != nil {
		_ = s.before.Close() // its file is in the run's own folder
	}
}

// lookBefore begins to look at the project's files while the containers come up;
// search.wait waits for the end of that. The agent starts after it.
func (r *run) lookBefore(ctx context.Context) {
	if r.plan.Place.Mode != workspace.Bind && !r.plan.Place.Mode.IsCopy() { // the agent can change nothing of the project
		close(r.search.looked)
		return
	}
	go func() {
		defer close(r.search.looked)
		var ours []string
		for _, p := range r.plan.Project.Placeholders {
			if rel, err := filepath.Rel(r.plan.Folder(), p.Path); err == nil {
				ours = append(ours, filepath.ToSlash(rel))
			}
		}
		r.search.before, r.search.err = changes.Take(ctx, r.plan.Project.Dir,
			changes.Options{Keep: r.host.StateDir, Ours: ours, OutOfReach: r.outOfReach(), Secrets: r.finder})
	}()
}

// outOfReach lists the .git folders that a volume covers in the agent's
// container: git of the user's may change them meanwhile.
func (r *run) outOfReach() (rels []string) {
	for _, p := range r.plan.Project.Git.Private {
		rels = append(rels, p.Path)
	}
	return rels
}

// disarm takes from git on this machine what the agent's new repositories would have it
// obey, in the project's own folder.
func disarm(ctx context.Context, folder string, set *changes.Set, known *redact.Redactor) error {
	dirs := set.GitDirs()
	if len(dirs) == 0 {
		return nil
	}
	found, err := gitdir.Disarm(ctx, folder, dirs)
	for _, d := range found {
		if d.Err != nil {
			d.Head = ""
		}
		for i, act := range d.Acts { // the agent's words
			d.Acts[i] = known.String(act)
		}
		set.NoteActs(d.Path, d.Acts, d.Head)
	}
	if err != nil {
		return fmt.Errorf("new repositories in the project could not be looked at: %w", err)
	}
	return nil
}

// lookAfter finds what the agent changed and keeps it in the run's folder. It
// goes by the files alone: what git on this machine says of them, an agent can
// arrange.
func (r *run) lookAfter(ctx context.Context) {
	if r.search.found == nil {
		r.search.begin(ctx)
	}
	set := <-r.search.found
	if r.loss.unfetched != nil { // what is here is the copy as it was
		return
	}
	if set == nil {
		for _, line := range (&changes.Set{Outside: r.plan.Outside()}).Unlooked() {
			r.warn("not looked at: " + line)
		}
		r.dropTree()
		return
	}
	set.Outside = r.plan.Outside()
	r.result.Changes = set
	if !r.plan.Place.Mode.IsCopy() { // there nothing obeys them yet
		if err := disarm(ctx, r.plan.Folder(), set, r.redactor); err != nil {
			r.warn(err.Error())
		}
		warnings := set.Warnings(maxNamed)
		r.result.Warnings = append(r.result.Warnings, warnings...)
		for _, w := range set.RepositoryWarnings(maxNamed) {
			r.host.Say("warning: " + w)
		}
	}
	r.noteUncommitted(set)
	for _, name := range set.Secrets() {
		r.warn("the value of the secret " + name + " stands in files that the agent wrote; 'sbx-devc review' shows them first")
	}
	for _, line := range set.Unseen {
		r.result.Warnings = append(r.result.Warnings, "the search for changes did not look at everything: "+line)
	}
	if err := set.Save(r.host.StateDir); err != nil {
		r.unkept("the list of changes", err)
		return
	}
	r.result.Files.Changes = filepath.Join(r.host.StateDir, changes.PatchFile)
	r.settleTree()
}
