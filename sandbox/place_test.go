package sandbox

import (
	"path/filepath"
	"testing"

	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
)

// A run that cannot make the places for its mounts has not started, which callers
// and docs/cli.md tell apart from a failure of its own.
func TestNoPlaceForAMountIsNoStart(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	p := &runplan.Plan{Project: &workspace.Mounts{Dir: gone}}
	if _, err := place(p, ""); ExitCode(err) != 125 {
		t.Errorf("exit code %d: %v", ExitCode(err), err)
	}
}
