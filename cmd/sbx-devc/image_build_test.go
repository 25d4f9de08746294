package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/registrytest"
)

// One input has one digest, whatever the image is called where.
func TestTheNameIsNoInput(t *testing.T) {
	dir, addr := imageProject(t), registrytest.Start(t)
	want := imageOK(t, "image", "build", dir, "--oci", filepath.Join(dir, "one"))
	for _, tag := range []string{"other", "me/sandbox:v1.2.3", "localhost:1/a/b/c:latest"} {
		if got := imageOK(t, "image", "build", dir, "--oci", filepath.Join(dir, "two"), "--tag", tag); got != want {
			t.Errorf("under the name %s it has %s, without one %s", tag, got, want)
		}
	}
	for _, ref := range []string{addr + "/a/one:v1.2.3", addr + "/two:latest", addr + "/three"} {
		if got := imageOK(t, "image", "push", "--dir", dir, ref); !strings.HasSuffix(got, "@"+want) {
			t.Errorf("pushed as %s, built it was %s", got, want)
		}
	}
	if got := imageOK(t, "image", "build", dir, "--oci", filepath.Join(dir, "three"), "--title", "another"); got == want {
		t.Error("a title that is given is not in the digest")
	}
}
