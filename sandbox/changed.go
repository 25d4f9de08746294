package sandbox

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// maxNamed is how many paths one warning names.
const maxNamed = 20

// search is the look for what the agent changed.
type search struct {
	plan    *runplan.Plan
	folder  folder
	secrets *redact.Finder   // that are looked for in files
	known   *redact.Redactor // of what is said
	tree    *tree
	notices *notices
	// accepted is Callbacks.Accepted.
	accepted func() map[string][]byte

	looked chan struct{}   // closed when the look before the run has ended
	before *changes.Before // the project's files before the run; nil until looked is closed
	err    error           // of that look
	found  <-chan *changes.Set
	// recorded is closed when the first look is on the disk; nil = it is not wanted there.
	recorded chan struct{}
	noted    bool // the run is noted, and somebody looks after it
	left     bool // what changed is not kept, and somebody else may look once more
}

func newSearch(t *tree, secrets *redact.Finder, known *redact.Redactor) *search {
	return &search{plan: t.plan, folder: t.folder, secrets: secrets, known: known, tree: t, notices: t.notices, looked: make(chan struct{})}
}

// wait waits for the end of the look before the run.
func (s *search) wait() error {
	<-s.looked
	if s.err != nil {
		return fmt.Errorf("%w: %w", ErrNoStart, s.err)
	}
	return nil
}

// record writes the look before the run into the run's folder, for Reap.
func (s *search) record() {
	if s.before == nil {
		return
	}
	s.recorded = make(chan struct{})
	go func() {
		defer close(s.recorded)
		_ = s.before.Save(string(s.folder)) // for rescueChanges, should this program be killed
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
		s.before.Accept(s.acceptedBelow(s.plan.Project.Dir))
		found <- s.before.Compare(ctx)
	}()
}

// acceptedBelow returns the accepted files in dir, by their slash-separated paths below it.
// The copy that an agent works on has none: the user's own files lie elsewhere.
func (s *search) acceptedBelow(dir string) map[string][]byte {
	if s.accepted == nil || s.plan.Place.Mode.IsCopy() {
		return nil
	}
	return changes.AcceptedIn(dir, s.accepted())
}

// forget removes the copies that the look before the run made, unless somebody else needs
// them.
func (s *search) forget() (left bool) {
	s.unused()
	switch { // the files are in the run's own folder
	case s.before == nil:
	case s.left:
		_ = s.before.Leave(time.Now())
	default:
		_ = s.before.Close()
	}
	return s.left
}

// start begins to look at the project's files while the containers come up; wait waits for
// the end of that. The agent starts after it.
func (s *search) start(ctx context.Context) {
	p := s.plan
	if p.Place.Mode != workspace.Bind && !p.Place.Mode.IsCopy() { // the agent can change nothing of the project
		close(s.looked)
		return
	}
	go func() {
		defer close(s.looked)
		var ours, outOfReach []string
		for _, made := range p.Project.Placeholders {
			if rel, err := filepath.Rel(p.Folder(), made.Path); err == nil {
				ours = append(ours, filepath.ToSlash(rel))
			}
		}
		for _, git := range p.Project.Git.Private { // a volume covers them in the agent's container: git of the user's may change them
			outOfReach = append(outOfReach, git.Path)
		}
		s.before, s.err = changes.Take(ctx, p.Project.Dir,
			changes.Options{Keep: string(s.folder), Ours: ours, OutOfReach: outOfReach, Secrets: s.secrets, Binaries: p.Asked.Binaries})
	}()
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

// end finds what the agent changed and keeps it in the run's folder. It
// goes by the files alone: what git on this machine says of them, an agent can
// arrange.
func (s *search) end(ctx context.Context) {
	n, p := s.notices, s.plan
	if s.found == nil {
		s.begin(ctx)
	}
	set := <-s.found
	if n.unfetched != nil { // what is here is the copy as it was, and whoever fetches it looks
		s.left = s.noted
		return
	}
	if set == nil {
		for _, line := range (&changes.Set{Outside: p.Outside()}).Unlooked() {
			n.warn("not looked at: " + line)
		}
		s.tree.drop()
		return
	}
	set.Outside = p.Outside()
	n.result.Changes = set
	if !p.Place.Mode.IsCopy() { // there nothing obeys them yet
		if err := disarm(ctx, p.Folder(), set, s.known); err != nil {
			n.warn(err.Error())
		}
		n.result.Warnings = append(n.result.Warnings, set.Warnings(maxNamed)...)
		for _, w := range set.RepositoryWarnings(maxNamed) {
			n.say("warning: " + w)
		}
	}
	s.noteUncommitted(set)
	for _, name := range set.Secrets() {
		n.warn(secretInFiles(p, name))
	}
	for _, line := range set.Unseen {
		n.result.Warnings = append(n.result.Warnings, "the search for changes did not look at everything: "+line)
	}
	if err := set.Save(string(s.folder)); err != nil {
		n.unkept("the list of changes", err)
		s.left = s.noted
		return
	}
	n.result.Files.Changes = s.folder.path(changes.PatchFile)
	s.tree.settle()
}
