package runs

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// ErrNoSandbox says that a run worked on this machine without a sandbox: nothing of it was
// recorded, and a record of another run says nothing about it.
var ErrNoSandbox = errors.New("had no sandbox: nothing of it was recorded")

// CheckSandbox errs with ErrNoSandbox for the folder of such a run. Any other folder
// is not judged.
func CheckSandbox(folder string) error {
	s := readSummary(folder)
	if s.Conclusion != string(agent.Unsandboxed) {
		return nil
	}
	err := fmt.Errorf("the run %s %w", filepath.Base(folder), ErrNoSandbox)
	return exitcode.With(exitcode.NoInput,
		diag.WithHint(err, "look at the project yourself, for example with git; 'sbx-devc ls' lists other runs"))
}
