package decision

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/session/runs"
)

// A person who asks for the changes of the last run is told when they are those of another one.
func TestTheNewestRunWithoutChangesIsNamed(t *testing.T) {
	state := t.TempDir()
	h := runs.HomeOf(func(string) string { return state }, func(string) {})
	for id, text := range map[string]string{
		"20260101-000000-aaaaaa": `{"folder":"/p"}`,
		"20260102-000000-aaaaaa": `{"folder":"/p","workspace":"ro"}`,
		"20260103-000000-aaaaaa": `{"folder":"/p"}`,
		"20260104-000000-aaaaaa": `{"folder":"/q","workspace":"none"}`,
		"20260105-000000-aaaaaa": `{"folder":"/r","workspace":"bind"}`,
		"20260106-000000-aaaaaa": `{"folder":"/r","conclusion":"unsandboxed"}`,
	} {
		folder, err := h.Make(id)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, "summary.json"), []byte(text), 0o600)
		}
		if err == nil && (id == "20260101-000000-aaaaaa" || id == "20260105-000000-aaaaaa") {
			err = os.WriteFile(filepath.Join(folder, changes.SetFile), nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ project, folder, later string }{
		{"/p", "20260101-000000-aaaaaa", "20260103-000000-aaaaaa has nothing to review: its agent did not begin"},
		{"/q", "", "20260104-000000-aaaaaa has nothing to review: with --workspace none"},
		{"/r", "20260105-000000-aaaaaa", "20260106-000000-aaaaaa had no sandbox"},
		{"/s", "", ""},
	} {
		folder, later, err := Changed(h, c.project, "")
		if later += diag.HintOf(err); (err == nil) != (c.folder != "") || !strings.HasSuffix(folder, c.folder) || !strings.Contains(later, c.later) {
			t.Errorf("%s: %q %q %v", c.project, folder, later, err)
		}
	}
	if _, _, err := Changed(h, "", "20260102-000000-aaaaaa"); err == nil || !strings.Contains(diag.HintOf(err), "--workspace ro its agent could change no file") {
		t.Errorf("%v", err)
	}
}
