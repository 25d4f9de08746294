package sandbox

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/workspace"
)

// maxNamed is how many paths one warning names.
const maxNamed = 20

// lookBefore begins to look at the project's files while the containers come up;
// waitBefore waits for the end of that. The agent starts after it.
func (r *run) lookBefore(ctx context.Context) {
	r.looked = make(chan struct{})
	if r.plan.mode != workspace.Bind && !r.plan.mode.IsCopy() { // the agent can change nothing of the project
		close(r.looked)
		return
	}
	go func() {
		defer close(r.looked)
		var ours []string
		for _, p := range r.plan.Project.Placeholders {
			if rel, err := filepath.Rel(r.plan.Folder(), p.Path); err == nil {
				ours = append(ours, filepath.ToSlash(rel))
			}
		}
		r.before, r.lookErr = changes.Take(ctx, r.plan.Project.Dir,
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

func (r *run) waitBefore() error {
	<-r.looked
	if r.lookErr != nil {
		return fmt.Errorf("%w: %w", ErrNoStart, r.lookErr)
	}
	return nil
}

// beginLookAfter begins to look for what the agent changed; its container must
// have ended.
func (r *run) beginLookAfter(ctx context.Context) {
	found := make(chan *changes.Set, 1)
	r.found = found
	go func() {
		<-r.looked
		if r.before == nil { // then the agent never ran
			found <- nil
			return
		}
		found <- r.before.Compare(ctx)
	}()
}

// lookAfter finds what the agent changed and keeps it in the run's folder. It
// goes by the files alone: what git on this machine says of them, an agent can
// arrange.
func (r *run) lookAfter(ctx context.Context) {
	if r.found == nil {
		r.beginLookAfter(ctx)
	}
	set := <-r.found
	if set == nil {
		r.dropTree()
		return
	}
	r.result.Changes = set
	if !r.plan.mode.IsCopy() { // there nothing obeys them yet
		warnings := set.Warnings(maxNamed)
		r.result.Warnings = append(r.result.Warnings, warnings...)
		if len(set.Repositories) > 0 {
			r.host.Say("warning: " + warnings[0])
		}
	}
	for _, name := range set.Secrets() {
		r.warn("the value of the secret " + name + " stands in files that the agent wrote; 'sbx-devc review' shows them first")
	}
	for _, line := range set.Unseen {
		r.result.Warnings = append(r.result.Warnings, "the search for changes did not look at everything: "+line)
	}
	if err := set.Save(r.host.StateDir); err != nil {
		r.host.Say("warning: " + err.Error())
		return
	}
	r.result.Files.Changes = filepath.Join(r.host.StateDir, changes.PatchFile)
	r.settleTree()
}

// forgetBefore removes the copies that lookBefore made.
func (r *run) forgetBefore() {
	<-r.looked
	if r.before != nil {
		_ = r.before.Close() // its file is in the run's own folder
	}
}
