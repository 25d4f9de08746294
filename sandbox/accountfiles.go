package sandbox

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// writeAccount writes the account files into the run's folder and gives their mounts
// these sources.
func writeAccount(p *runplan.Plan, folder string, mounts []engine.Mount) error {
	for _, file := range runplan.AccountFiles() {
		source := filepath.Join(folder, filepath.Base(file))
		if err := os.WriteFile(source, []byte(runplan.AccountText(file, p.Place.Owner.UID, p.Place.Owner.GID)), 0o644); err != nil {
			return fmt.Errorf("%w: writing the agent's account: %w", ErrNoStart, err)
		}
		for i := range mounts {
			if mounts[i].Target == file {
				mounts[i].Source = source
			}
		}
	}
	return nil
}
