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
	p, err := newPlan(o, runplan.Facts{Workspace: w})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// newPlan is the plan of options that nobody is asked about.
func newPlan(o runplan.Options, f runplan.Facts) (*runplan.Plan, error) {
	accepted, err := o.Effective()
	if err != nil {
		return nil, err
	}
	return o.Plan(accepted, f)
}
