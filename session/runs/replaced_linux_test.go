package runs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/filekind"
)

// Attack: a project was removed, and somebody else's takes its place. It gets neither the
// conversation of the first one nor its commits, until a person names the run.
func TestAttackAProjectTakesThePlaceOfAnother(t *testing.T) {
	const id = "20260101-000000-aaaaaa"
	project := filepath.Join(t.TempDir(), "project")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	h := runsWith(t, map[string]string{
		id: `+{"folder":"` + project + `","folderIdentity":"` + filekind.Identity(project) + `","sessionId":"` + session + `"}`,
	})
	if got, err := h.Conversation(project, ""); err != nil || got.ID != session {
		t.Fatal(got, err)
	}
	if _, err := h.Folder(project, ""); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(project, project+".old"); err != nil { // else the inode may be the same
		t.Fatal(err)
	}
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := h.Conversation(project, ""); err == nil || got.ID != "" ||
		!strings.Contains(err.Error(), "was made anew since its last run") {
		t.Errorf("the conversation is %+v, %v", got, err)
	}
	if folder, err := h.Folder(project, ""); err == nil {
		t.Errorf("the newest run is %s", folder)
	}
	if got, err := h.Conversation(project, id); err != nil || got.ID != session {
		t.Errorf("by its name: %+v, %v", got, err)
	}
}
