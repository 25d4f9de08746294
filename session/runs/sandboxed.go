package runs

import (
	"fmt"
	"path/filepath"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// hadNoSandbox is said of a run that worked on this machine without a sandbox: a record of
// another run says nothing about it.
const hadNoSandbox = "had no sandbox: nothing of it was recorded"

// CheckSandbox errs for a run that had no sandbox.
func (r Run) CheckSandbox() error { return checkSandbox(r.Folder) }

// checkSandbox is CheckSandbox for the run in a folder. Any other folder is not judged.
func checkSandbox(folder string) error {
	if readSummary(folder).Conclusion != string(agent.Unsandboxed) {
		return nil
	}
	err := fmt.Errorf("the run %s %s", filepath.Base(folder), hadNoSandbox)
	return exitcode.With(exitcode.NoInput,
		diag.WithHint(err, "look at the project yourself, for example with git; 'sbx-devc ls' lists other runs"))
}
