package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox"
)

// reapBudget bounds cleaning up behind runs that were killed, while somebody
// waits for something else.
const reapBudget = time.Minute

// liveHome is where runs that go on are noted, see sandbox.Reap.
func (a *app) liveHome() string { return filepath.Join(stateHome(a.getenv), "live") }

// reap cleans up behind runs whose program was killed, and says so on standard
// error. It must come before anybody looks at a project, where they left
// placeholders.
func (a *app) reap(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reapBudget)
	defer cancel()
	for _, line := range sandbox.Reap(ctx, a.liveHome(), engine.Connect) {
		fmt.Fprintf(a.stderr, "sbx-devc: %s\n", line)
	}
}
