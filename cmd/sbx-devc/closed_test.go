package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// Root clones a project, and the agent in its dev container is somebody else.
func TestInitAndValidateWarnRoot(t *testing.T) {
	testenv.Root(t)
	if runtime.GOOS != "linux" {
		t.Skip("a virtual machine maps the owners of files")
	}
	dir := filepath.Join(t.TempDir(), "project")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		owner int
		warns bool
	}{{0, true}, {1000, false}} {
		if err := os.Chown(dir, tt.owner, tt.owner); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"init", dir, "--yes"}, {"validate", dir}} {
			var out bytes.Buffer
			a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &out, getenv: homeAlone(t)}
			a.main(t.Context(), args)
			if warned := strings.Contains(out.String(), "'chown -R 1000:1000 "); warned != tt.warns {
				t.Errorf("%s in a project of user %d: %s", args[0], tt.owner, &out)
			}
		}
	}
}
