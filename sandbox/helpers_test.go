package sandbox

import (
	"testing"

	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
)

// plan is the plan of a run with these options.
func plan(t *testing.T, o runplan.Options, w *workspace.Workspace) *runplan.Plan {
	t.Helper()
	o.ID, o.Image = "test", "image:1"
	p, err := runplan.New(o, runplan.Facts{Workspace: w})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
