package sandbox

import (
	"context"
	"fmt"
	"slices"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
)

// folderInUse reports whether another run or a dev container works in a project's
// folder itself, and not on a copy of it. Placeholders are mounted there: removing a mount point on the host would
// take the mount away from that run's agent, and end the dev container. An engine
// that does not say counts as yes.
func folderInUse(ctx context.Context, e *engine.Engine, folder string) bool {
	others, err := users(ctx, e, folder)
	return err != nil || slices.ContainsFunc(others, func(c engine.Container) bool {
		mode := workspace.Mode(c.Labels[runplan.LabelMode])
		return !c.Ended && !mode.IsCopy() && mode != workspace.None
	})
}

// users returns the containers, running or not, of the runs and the dev containers whose
// folder is the given one, in it or around it: what is mounted in them may lie in it. The
// folder is absolute, without symbolic links.
func users(ctx context.Context, e *engine.Engine, folder string) (found []engine.Container, err error) {
	for _, label := range []string{runplan.LabelWorkspace, runplan.LabelFolder} {
		all, err := e.Containers(ctx, label, "")
		if err != nil {
			return nil, err
		}
		for _, c := range all {
			if at := c.Labels[label]; workspace.Below(folder, at) || workspace.Below(at, folder) {
				found = append(found, c)
			}
		}
	}
	return found, nil
}

// Unused refuses a folder that a container has mounted: to remove a place of a mount takes
// the mount away, and the container ends by that. The error has the exit code 75.
func Unused(ctx context.Context, e *engine.Engine, folder string) error {
	found, err := users(ctx, e, folder)
	if err != nil || len(found) == 0 {
		return err
	}
	c := found[0]
	remove := "docker rm -f " + c.ID[:min(12, len(c.ID))]
	what, at, hint := "dev container", c.Labels[runplan.LabelFolder], "remove its container first: "+remove
	if c.Labels[runplan.LabelRun] != "" {
		what, at, hint = "run", c.Labels[runplan.LabelWorkspace], "'sbx-devc stop' ends the run; if its program was killed: "+remove
	}
	if at != folder {
		what += " on " + visible.Line(at)
	}
	return exitcode.With(exitcode.Locked, diag.WithHint(fmt.Errorf("%s is used by a %s", folder, what), "%s", hint))
}
