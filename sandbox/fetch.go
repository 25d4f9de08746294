package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace/copytree"
)

// An engine that does not share this machine's files gets the copy of the project in a
// volume of the firewall's container. When the agent has ended, what it left there comes
// back into the run's folder, where a copy is on any engine, so that all that follows is
// the same. Until it is there the container stays, whatever happens here.

// fetchTimeout bounds that. A project of 100 MB takes a minute on a slow line.
const fetchTimeout = 15 * time.Minute

// carriedTree is what must be known to bring a copy back from the engine.
type carriedTree struct {
	Volume string   `json:"volume"`         // its place in the firewall's container
	Keep   []string `json:"keep,omitempty"` // see copytree.Back
	UID    int      `json:"uid"`
	GID    int      `json:"gid"`
}

// carriedTreeOf is that of a plan; nil = its copy is on this machine alone, or is as it was.
func carriedTreeOf(p *runplan.Plan) *carriedTree {
	if !p.Carried() || !p.Place.Mode.IsCopy() {
		return nil
	}
	c := &carriedTree{Volume: p.Project.Carried[0].Volume, Keep: p.Project.OwnGit(), UID: -1, GID: -1}
	if os.Geteuid() == 0 {
		c.UID, c.GID = p.Place.Owner.UID, p.Place.Owner.GID
	}
	return c
}

// fetch brings what the agent left in its copy into the run's folder. The agent's container
// must have ended. With an error in what the engine sends nothing has changed there.
func (c *carriedTree) fetch(ctx context.Context, e *engine.Engine, id, stateDir string) (notes []string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTimeout, errEndTimeout)
	defer cancel()
	archive, err := e.OpenTar(ctx, runplan.FirewallContainer(id), c.Volume)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	return copytree.Merge(ctx, filepath.Join(stateDir, TreeFolder), archive, copytree.Back{Keep: c.Keep, UID: c.UID, GID: c.GID})
}

// fetch brings the agent's work back from the engine, if it is there. Where it cannot, the
// run's volumes stay for the next that reaps.
func (t *tree) fetch(ctx context.Context, records journal) {
	carried := carriedTreeOf(t.plan)
	if carried == nil {
		return
	}
	begin := time.Now()
	notes, err := carried.fetch(ctx, t.engine, t.plan.ID, string(t.folder))
	for _, n := range notes {
		t.notices.warn(n)
	}
	if t.notices.unfetched = err; err != nil {
		t.notices.lose("the agent's copy of the project")
		return
	}
	records.step("the agent's copy is back from the engine", time.Since(begin))
}

// leaveThere leaves the firewall's container with the work that a failure kept there.
func (t *tree) leaveThere(ctx context.Context, failure error) {
	_ = t.engine.Remove(ctx, runplan.AgentContainer(t.plan.ID)) // Remove of the whole run does it again
	id := t.plan.ID
	t.notices.warn(fmt.Sprintf("the agent's work could not be fetched from the engine: %v; it is in the container %s, and the next "+
		"'sbx-devc run' with this engine fetches it%s", failure, runplan.FirewallContainer(id), byHand(id, carriedTreeOf(t.plan), failure)))
}

// byHand says what a person can do about work that stays in the container of a run's firewall
// because of a failure, which another try may not overcome.
func byHand(id string, carried *carriedTree, failure error) string {
	name, take := runplan.FirewallContainer(id), ""
	if carried != nil && errors.Is(failure, copytree.ErrTooLarge) {
		take = fmt.Sprintf("; to copy a part of it: docker cp %s:%s FOLDER", name, carried.Volume)
	}
	return take + "; to give it up: docker rm -fv " + name
}

// rescueTree fetches the copy of a dead run: until then the folder of the run has the copy
// as it was. The list of the files before the run is on the disk first, for rescueChanges.
func rescueTree(ctx context.Context, e *engine.Engine, n liveRun) (notes []string, err error) {
	if _, err := os.Lstat(n.StateDir); n.Tree == nil || !n.Begun || errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the agent had not begun, or there is no place for its work
	}
	ctx = context.WithoutCancel(ctx) // who reaps has less time, and would begin again each time
	tree := filepath.Join(n.StateDir, TreeFolder)
	if err := os.Mkdir(tree, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if !changes.IsLeft(n.StateDir) { // the run was killed before it had noted that
		before, err := changes.Take(ctx, tree, changes.Options{Keep: n.StateDir, OutOfReach: n.Tree.Keep})
		if err != nil {
			return nil, err
		}
		if err := errors.Join(before.Save(n.StateDir), before.Leave(time.Time{})); err != nil {
			return nil, err
		}
	}
	if notes, err = n.Tree.fetch(ctx, e, n.ID, n.StateDir); err != nil {
		return notes, fmt.Errorf("fetching the agent's work: %w", err)
	}
	return notes, nil
}
