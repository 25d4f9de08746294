package runplan

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/workspacetest"
)

// An engine behind a forwarded socket gives the name of its machine; one in a virtual machine
// of this one, too, and has the folders.
func TestAnEngineNamesAnotherMachine(t *testing.T) {
	own, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		machine, system string
		another         bool
	}{{own, "linux", false}, {"", "linux", false}, {"far-" + own, "linux", true}, {"docker-desktop", "darwin", false},
		{"docker-desktop", "windows", false}} {
		if got := namesAnotherMachine(engine.Description{Machine: c.machine}, c.system); got != c.another {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// A runtime that Podman would not take is refused, and not left out in silence.
func TestOCIRuntimesOfPodman(t *testing.T) {
	o := Options{Containers: Containers{OCIRuntime: "runsc"}}
	for name, fine := range map[string]bool{"Docker": true, "Podman": false} {
		err := plan(t, o, workspacetest.Folder(t)).checkRuntime(engine.Description{Name: name, Runtimes: []string{"crun", "runsc"}})
		if fine != (err == nil) || !fine && (!errors.Is(err, ErrConfig) || !strings.Contains(diag.HintOf(err), "containers.conf")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
