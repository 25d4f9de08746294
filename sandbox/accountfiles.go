package sandbox

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/internal/engine"
)

// writeAccount writes the account files into the run's folder and gives their mounts
// these sources.
func writeAccount(p *Plan, folder string, mounts []engine.Mount) error {
	for _, file := range AccountFiles() {
		source := filepath.Join(folder, filepath.Base(file))
		if err := os.WriteFile(source, []byte(accountText(file, p.place.owner.UID, p.place.owner.GID)), 0o644); err != nil {
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
