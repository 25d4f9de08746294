package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/enginetest"
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

// A tag of a version names one content for ever.
func TestPushedTagsDoNotMove(t *testing.T) {
	dir, ref := imageProject(t), registrytest.Start(t)+"/me/x:v1.2.3"
	imageOK(t, "image", "push", "--dir", dir, ref)
	if _, errs, code := imageRun(t, nil, "image", "push", "--dir", dir, "--title", "another", ref); code != exitRefused ||
		!strings.Contains(errs, ref) {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// A step that fails is no fault of the command line: its output is shown, and nothing is tagged.
func TestAStepOfADockerfileFails(t *testing.T) {
	e := enginetest.Connect(t)
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"Dockerfile": "FROM debian:bookworm-slim\nRUN echo it is said; exit 3\n"})
	for _, command := range [][]string{{"image", "build", "--dockerfile", "Dockerfile"}, {"sandbox", "build"}} {
		code, out, said := call(t, append(command, dir, "--tag", "sbx-matrix-failed:built")...)
		if code != exitFailed || out != "" || !strings.Contains(said, "it is said") {
			t.Errorf("%s: exit %d: %s%s", command[0], code, out, said)
		}
	}
	if _, err := e.ImageInspect(t.Context(), "sbx-matrix-failed:built"); err == nil {
		t.Error("the image is there")
	}
}
