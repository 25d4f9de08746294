package runplan

import (
	"errors"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/workspacetest"
)

// A runtime that Podman would not take is refused, and not left out in silence.
func TestOCIRuntimesOfPodman(t *testing.T) {
	o := Options{OCIRuntime: "runsc"}
	for name, fine := range map[string]bool{"Docker": true, "Podman": false} {
		err := plan(t, o, workspacetest.Folder(t)).checkRuntime(engine.Description{Name: name, Runtimes: []string{"crun", "runsc"}})
		if fine != (err == nil) || !fine && (!errors.Is(err, ErrConfig) || !strings.Contains(diag.HintOf(err), "containers.conf")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
