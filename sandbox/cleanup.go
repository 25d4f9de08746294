package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// cleanup removes both containers and what the run put on the host.
func (r *run) cleanup(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if r.ending != nil {
		ctx = r.ending.remove
	}
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	r.waits.on("the container engine to remove the containers")
	r.keys.close()
	if r.tunnel != nil {
		r.tunnel.Close()
	}
	if r.sidecar != nil && r.sidecar.conn != nil { // it has started
		r.sidecar.canaries.close()
		r.sidecar.conn.Close()
	}
	if failure := r.notices.stuck(); failure != nil {
		r.tree.leaveThere(ctx, failure)
		r.live.leave()
		return
	}
	if err := Remove(ctx, r.engine, r.plan.ID); err != nil {
		r.host.Say(fmt.Sprintf("warning: %v; the next run on this machine tries again", err))
		r.live.leave()
		return
	}
	r.plan.Project.RemoveCopies(r.host.StateDir)
	if r.live != nil {
		r.live.retire()
		takeBackAll(ctx, r.engine, r.host.LiveDir, r.plan.Folder())
	} else if !folderInUse(ctx, r.engine, r.plan.Folder()) {
		r.placed.Remove()
	}
}

// Remove kills and removes every container of the run with the given id, the
// agent before the firewall. A run that left nothing is no error.
func Remove(ctx context.Context, e *engine.Engine, id string) error {
	// Podman does not remove a container whose network another one has joined.
	errs := []error{e.Remove(ctx, runplan.AgentContainer(id))}
	ids, err := e.List(ctx, runplan.LabelRun, id)
	if err != nil {
		return err
	}
	for _, id := range ids {
		errs = append(errs, e.Remove(ctx, id))
	}
	return errors.Join(errs...)
}
