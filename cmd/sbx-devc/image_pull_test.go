package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/registrytest"
	"github.com/org/claude-sandbox/templates/lock"
)

// pulledTitle returns the title of an image that the engine has, and removes
// it when the test is over.
func pulledTitle(t *testing.T, e *engine.Engine, ref string) string {
	t.Helper()
	image, err := e.ImageInspect(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.ImageRemove(t.Context(), ref) })
	return image.Labels["org.opencontainers.image.title"]
}

// The lock of a project decides what is pulled: whoever moves the tag
// afterwards moves nothing here, and that the tag moved is said.
func TestPullTakesTheLocksDigest(t *testing.T) {
	e := enginetest.Connect(t)
	addr := registrytest.Start(t)
	image, other := addr+"/me/sandbox:v1", addr+"/me/tools:v1"
	push := func(title string) {
		for _, ref := range []string{image, other} {
			imageOK(t, "image", "push", "--init-only", ref, "--title", title+" "+ref)
		}
	}
	dir := t.TempDir()
	l, _, err := lock.New(lock.Input{Template: "claude"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		lock.Path: string(l.Encode()), ".devcontainer/devcontainer.json": `{"image": "` + other + `"}`,
		".devcontainer/sandbox.jsonc": `{"network": {"mode": "none"}, "image": "` + image + `"}`,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, errs, code := imageRun(t, nil, "image", "pull", "--dir", dir); code != 65 || !strings.Contains(errs, "lock --update") {
		t.Errorf("a lock that nobody looked up: exit %d: %s", code, errs)
	}
	push("locked")
	imageOK(t, "lock", "--update", dir)
	push("moved")
	for _, args := range [][]string{{"--dir", dir}, {image, "--dir", dir}, {image, "--lock", filepath.Join(dir, lock.Path)}} {
		out, errs, code := imageRun(t, nil, append([]string{"image", "pull"}, args...)...)
		if code != 0 {
			t.Fatalf("%v: exit %d: %s", args, code, errs)
		}
		refs := []string{image}
		if len(args) == 2 && args[0] == "--dir" {
			refs = append(refs, other)
		}
		if n := len(strings.Fields(out)); n != len(refs) {
			t.Errorf("%v: %d images are named: %s", args, n, out)
		}
		for _, ref := range refs {
			if got := pulledTitle(t, e, ref); got != "locked "+ref {
				t.Errorf("%v: %s is %q", args, ref, got)
			}
			if !strings.Contains(errs, "note: "+ref+" leads to sha256:") {
				t.Errorf("%v: that %s moved is not said: %s", args, ref, errs)
			}
		}
	}
	// An image in no lock is pulled as ever, and a digest is its own word.
	push("newest")
	unlocked := addr + "/me/else:v1"
	pushed := imageOK(t, "image", "push", "--init-only", unlocked, "--title", "else "+unlocked)
	if _, errs, code := imageRun(t, nil, "image", "pull", unlocked, "--dir", dir); code != 0 ||
		pulledTitle(t, e, unlocked) != "else "+unlocked || !strings.Contains(errs, "no digest for "+unlocked) {
		t.Errorf("exit %d: %s", code, errs)
	}
	if _, errs, code := imageRun(t, nil, "image", "pull", unlocked, "--lock", filepath.Join(dir, lock.Path)); code != 65 {
		t.Errorf("an image that the named lock does not know: exit %d: %s", code, errs)
	}
	if id, errs, code := imageRun(t, nil, "image", "pull", pushed, "--dir", dir); code != 0 || pulledTitle(t, e, id) != "else "+unlocked ||
		strings.Contains(errs, "note:") {
		t.Errorf("by digest: exit %d: %s", code, errs)
	}
}

// An image in the place of the one that the image's lock describes is not
// loaded, whatever its tag says.
func TestPullRefusesAnotherImageThanTheLocks(t *testing.T) {
	e := enginetest.Connect(t)
	dir, addr := imageProject(t), registrytest.Start(t)
	ref, swapped := addr+"/me/sandbox:v1", addr+"/me/sandbox:swapped"
	imagePolicyOf(t, dir, `{"network": {"mode": "none", "deny": ["`+strings.Replace(addr, ":", "-", 1)+`.example"]}}`) // an image of its own
	file := filepath.Join(dir, "sbx-image.lock.json")
	imageOK(t, "image", "push", "--dir", dir, ref)
	imageOK(t, "image", "push", "--init-only", swapped, "--title", swapped)
	pull := func(args ...string) (string, int) {
		_, errs, code := imageRun(t, nil, append([]string{"image", "pull", "--lock", file}, args...)...)
		return errs, code
	}
	missing := func(ref string) {
		t.Helper()
		if _, err := e.ImageInspect(t.Context(), ref); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("the engine has %s: %v", ref, err)
		}
	}
	if errs, code := pull(swapped); code != 1 || !strings.Contains(errs, "is not pulled: ") || !strings.Contains(errs, "layers linux/") {
		t.Errorf("another image: exit %d: %s", code, errs)
	}
	missing(swapped)
	policy := filepath.Join(dir, ".devcontainer", "sandbox.jsonc")
	wide := filepath.Join(dir, "wide.jsonc")
	if err := os.WriteFile(wide, []byte(`{"network": {"mode": "host"}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if errs, code := pull(ref, "--policy", wide); code != 1 || !strings.Contains(errs, "policy linux/") ||
		!strings.Contains(errs, "another one than wanted") {
		t.Errorf("another policy: exit %d: %s", code, errs)
	}
	signer := toolStandIn(t, "cosign")
	if err := os.WriteFile(filepath.Join(signer, "exit"), []byte("1"), 0o644); err != nil {
		t.Fatal(err)
	}
	if errs, code := pull(ref, "--signature", "cosign", "--key", "k.pub"); code != 1 || !strings.Contains(errs, "signature: cosign: ") {
		t.Errorf("no signature: exit %d: %s", code, errs)
	}
	missing(ref)
	if errs, code := pull(ref, "--policy", policy); code != 0 {
		t.Errorf("the lock's own: exit %d: %s", code, errs)
	}
	if got := pulledTitle(t, e, ref); got != "claude-sandbox" {
		t.Errorf("pulled %q", got)
	}
	if errs, code := pull(); code != 64 {
		t.Errorf("without a reference: exit %d: %s", code, errs)
	}
}

// A private image says what is missing: credentials, or rights.
func TestPullOfAPrivateImage(t *testing.T) {
	enginetest.Connect(t)
	f := registrytest.StartFaulty(t)
	ref := f.Addr + "/me/private:v1"
	imageOK(t, "image", "push", "--init-only", f.Real+"/me/private:v1")
	for _, c := range []struct {
		code int
		body string
		exit int
		hint string
	}{
		{401, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, 78, "no credentials were found"},
		{403, `{"errors":[{"code":"DENIED","message":"denied"}]}`, 78, "docker login"},
		{404, `{"errors":[{"code":"MANIFEST_UNKNOWN"}]}`, 66, "a private image also looks missing"},
	} {
		f.Set(registrytest.Times(1<<30, registrytest.Request("GET", "/manifests/"), registrytest.Answer(c.code, nil, c.body)))
		if _, errs, code := imageRun(t, nil, "image", "pull", ref); code != c.exit || !strings.Contains(errs, c.hint) {
			t.Errorf("%d: exit %d, want %d: %s", c.code, code, c.exit, errs)
		}
	}
}
