package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/cmd/sbx-devc/devfiles"
	"github.com/org/claude-sandbox/imagebuild/digest"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/registrytest"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/templates/lock"
	"github.com/org/claude-sandbox/templates/scaffold"
)

// newDigests is what 'lock --update' asks, without its pauses.
func newDigests(t *testing.T, notice func(string)) *digest.Source {
	t.Helper()
	o := registry.Real(registry.Credentials{Getenv: os.Getenv}, notice)
	o.Sleep = func(context.Context, time.Duration) error { return nil }
	d := digest.New(o)
	t.Cleanup(d.Close)
	return d
}

// TestLockUpdateOutlivesItsRegistry locks an image while its registry stumbles,
// while it is dead and the engine has the image, and when nobody knows it.
func TestLockUpdateOutlivesItsRegistry(t *testing.T) {
	t.Parallel()
	docker := testenv.Program(t, "docker")
	enginetest.Connect(t)
	p := &devProject{t: t, docker: docker, dir: t.TempDir()}
	hub := registrytest.StartFaulty(t)
	image, tagged := hub.Addr+"/sbx-lock/base:1", hub.Addr+"/sbx-lock/other:1"
	p.must("sh", "-c", "tar -c -C "+t.TempDir()+" . | "+docker+" import - "+image)
	t.Cleanup(func() { p.must(docker, "rmi", "-f", image, tagged) })
	p.must(docker, "tag", image, tagged)
	p.must(docker, "push", "-q", image)
	p.must(docker, "push", "-q", tagged)
	want := p.must(docker, "inspect", "--format", "{{index .RepoDigests 0}}", image)
	_, want, _ = strings.Cut(want, "@")

	p.sbx("init", p.dir, "--template", "claude-minimal", "--option", "baseImage="+image)
	path := filepath.Join(p.dir, lock.Path)
	pinned := "node@sha256:" + strings.Repeat("1", 64)
	p.edit("Dockerfile", "FROM node:22-bookworm-slim", "FROM "+pinned) // no registry of the world
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	update := func(t *testing.T) (code int, said string, l lock.Lock) {
		t.Helper()
		if err := os.WriteFile(path, before, 0o644); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &out, getenv: os.Getenv}
		d := newDigests(t, func(text string) { out.WriteString(text + "\n") })
		if err := devfiles.LockUpdate(t.Context(), a.cli(), scaffold.Folder(p.dir), d); err != nil {
			a.cli().PrintError(err)
			code, _ = exitcode.Of(err, exitInternal)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if code != 0 && !bytes.Equal(text, before) {
			t.Errorf("half-written: %s", text)
		}
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatal(err)
		}
		return code, out.String(), l
	}
	inLock := func(l lock.Lock) string {
		for _, i := range l.Images {
			if i.Reference == image {
				return i.Digest
			}
		}
		return "(not in the lock)"
	}
	manifests := func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/manifests/") }
	gone := func(http.ResponseWriter, *http.Request, http.Handler) bool { panic(http.ErrAbortHandler) }

	t.Run("Stumbles", func(t *testing.T) {
		hub.Set(registrytest.Times(3, manifests, registrytest.Answer(503, nil, "")))
		if code, said, l := update(t); code != 0 || inLock(l) != want || strings.Contains(said, "engine") {
			t.Errorf("exit %d, %s, want %s\n%s", code, inLock(l), want, said)
		}
	})
	t.Run("DeadAndTheEngineKnows", func(t *testing.T) {
		hub.Set(gone)
		if code, said, l := update(t); code != 0 || inLock(l) != want || !strings.Contains(said, "the digest that the engine has") {
			t.Errorf("exit %d, %s, want %s\n%s", code, inLock(l), want, said)
		}
	})
	// No other source overrules a registry that answers.
	t.Run("SaysNo", func(t *testing.T) {
		for _, status := range []int{401, 403, 404} {
			hub.Set(registrytest.Times(1000, manifests, registrytest.Answer(status, nil, "")))
			if code, said, _ := update(t); code != exitNoCheck || strings.Contains(said, "engine") {
				t.Errorf("%d: exit %d\n%s", status, code, said)
			}
		}
	})
	t.Run("DeadAndNobodyKnows", func(t *testing.T) {
		hub.Set(gone)
		p.must(docker, "rmi", image)
		code, said, _ := update(t)
		if code != exitNoCheck || !strings.Contains(said, "nothing was written") || !strings.Contains(said, image) {
			t.Errorf("exit %d\n%s", code, said)
		}
	})
	// A tag that somebody gave on this machine is no word of the registry's.
	t.Run("OnlyTagged", func(t *testing.T) {
		p.must(docker, "tag", tagged, image)
		if code, said, _ := update(t); code != exitNoCheck || !strings.Contains(said, "is not from") {
			t.Errorf("exit %d\n%s", code, said)
		}
	})
}
