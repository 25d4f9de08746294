//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

func TestClosedToDevContainer(t *testing.T) {
	testenv.Root(t)
	for _, tt := range []struct {
		owner, caller int
		mode          os.FileMode
		want          string
	}{
		{0, 0, 0o755, "'sbx-devc run' needs neither"},
		{1000, 0, 0o755, ""},
		{1234, 0, 0o755, "chown -R 1000:1000"},
		{1234, 1234, 0o755, ""},
		{0, 1234, 0o755, "chown -R 1234:1234"},
		{0, 0, 0o777, ""},
	} {
		dir := t.TempDir()
		if err := os.Chown(dir, tt.owner, tt.owner); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, tt.mode); err != nil {
			t.Fatal(err)
		}
		if got := ClosedToDevContainer(dir, tt.caller); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

func TestEntriesThatTheAgentCannotChange(t *testing.T) {
	testenv.Root(t)
	dir := t.TempDir()
	for name, owner := range map[string]int{"dist": 0, "src": 1000, ".git": 0, "shared": 0} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(filepath.Join(dir, name), owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "shared"), 0o777); err != nil {
		t.Fatal(err)
	}
	if got := closedEntries(dir, 1000); len(got) != 1 || got[0] != "dist" {
		t.Errorf("closed: %q", got)
	}
}
