package history

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session/runs"
)

// A run on a clone leaves commits: the command that takes them is named.
func TestTheCommandAfterStop(t *testing.T) {
	for summary, want := range map[string]string{
		`{"folder": "/p", "commits": [{"branch": "sbx/r", "bundle": "commits.bundle"}]}`: "sbx-devc apply r",
		`{"folder": "/p", "commits": []}`:                                                "sbx-devc diff r",
		``:                                                                               "sbx-devc diff r",
	} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, sandbox.SummaryFile), []byte(summary), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := afterStop(runs.Run{ID: "r", Folder: folder}); !strings.HasSuffix(got, ": "+want) {
			t.Errorf("%s: %q, want %q", summary, got, want)
		}
	}
}
