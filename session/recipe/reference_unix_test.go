//go:build unix

package recipe

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// A build by the reference CLI succeeds with the files that the recipe took, and with no others:
// the context that nobody names is the folder of the Dockerfile.
func TestContextIsThatOfTheReferenceCLI(t *testing.T) {
	docker := testenv.Program(t, "docker")
	const base = "debian:bookworm-slim"
	if out, err := exec.Command(docker, "image", "inspect", base).CombinedOutput(); err != nil {
		testenv.Missing(t, "the image "+base, string(out))
	}
	dir := project(t, `-- .devcontainer/devcontainer.json --
{"dockerFile": "../docker/Dockerfile", "build": {"dockerfile": "none", "context": ".."}}
-- docker/Dockerfile --
FROM `+base+`
COPY tool /tool
-- docker/tool --
x
`)
	if r := Read(dir); r.Unusable != "" || r.Content["docker/tool"] == nil {
		t.Fatalf("unusable because %q; content %v", r.Unusable, r.Content)
	}
	image := fmt.Sprintf("sbx-recipe-test-%d", os.Getpid())
	t.Cleanup(func() { _ = exec.Command(docker, "rmi", "-f", image).Run() })
	build := testenv.Devcontainer(t, "build", "--workspace-folder", dir, "--image-name", image)
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
