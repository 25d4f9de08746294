package lock_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	imageregistry "github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/lock"
	"github.com/org/claude-sandbox/templates/merge"
	"github.com/org/claude-sandbox/templates/publish"
)

func newLock(t testing.TB, in lock.Input) (*lock.Lock, []templates.File) {
	t.Helper()
	l, files, err := lock.New(in, map[string]string{"amd64": "aa", "arm64": "bb"})
	if err != nil {
		t.Fatal(err)
	}
	return l, files
}

// reader reads files out of memory.
func reader(files []templates.File) func(string) []byte {
	return func(path string) []byte {
		for _, f := range files {
			if f.Path == path {
				return f.Content
			}
		}
		return nil
	}
}

func TestEncodeRoundTrip(t *testing.T) {
	for _, id := range templates.IDs() {
		l, files := newLock(t,
			lock.Input{Template: id, Allow: []string{"docs.example.com"}, Facts: templates.Facts{Pinned: []string{".git"}}, Workflow: true})
		text := l.Encode()
		again, err := lock.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.Encode(), text) {
			t.Errorf("%s: another text after reading it", id)
		}
		for _, f := range files {
			if !bytes.Equal(again.BaseFile(f.Path), f.Content) {
				t.Errorf("%s: the base of %s is not what was written", id, f.Path)
			}
		}
		if len(l.Images) == 0 || l.Claude.Version == "" || len(l.SbxInit.SHA256) != 2 {
			t.Errorf("%s: %+v %+v %+v", id, l.Images, l.Claude, l.SbxInit)
		}
	}
}

func TestReferences(t *testing.T) {
	for id, want := range map[string]string{
		"claude":        "node:22-bookworm-slim",
		"claude-node":   "node:22-bookworm-slim",
		"claude-go":     "debian:bookworm-slim golang:1.26-bookworm node:22-bookworm-slim",
		"claude-python": "ghcr.io/astral-sh/ruff:0.14 ghcr.io/astral-sh/uv:0.9 node:22-bookworm-slim python:3.13-slim-bookworm",
		"claude-strict": "debian:bookworm-slim node:22-bookworm-slim",
	} {
		_, files := newLock(t, lock.Input{Template: id})
		if got := strings.Join(lock.References(files), " "); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	own := []templates.File{
		{Path: ".devcontainer/compose.yaml", Content: []byte("services:\n  db:\n    image: \"postgres:17\" # x\n  other:\n    image: ${NAME}\n")},
		{Path: ".devcontainer/devcontainer.json", Content: []byte(`{"image": "base:1"}`)},
		{Path: ".devcontainer/sandbox.jsonc", Content: []byte(`{"network": {"mode": "none"}, "image": "run:1" /* for run */}`)},
	}
	if got := strings.Join(lock.References(own), " "); got != "base:1 postgres:17 run:1" {
		t.Errorf("own files: %s", got)
	}
}

// TestUpdateAYearLater: the lock is of a template that no program has any more,
// and the files were edited since.
func TestUpdateAYearLater(t *testing.T) {
	l, files := newLock(t, lock.Input{Template: "claude"})
	older := func(text []byte) []byte {
		s := strings.ReplaceAll(string(text), "--pids-limit=2048", "--pids-limit=512")
		return []byte(strings.ReplaceAll(s, "LANG=C.UTF-8", "LANG=C"))
	}
	l.Template.Version = "0.0.1"
	var mine []templates.File
	for _, f := range files {
		l.Base[f.Path] = strings.Split(string(older(f.Content)), "\n")
		text := older(f.Content)
		switch f.Path {
		case ".devcontainer/devcontainer.json":
			text = bytes.Replace(text, []byte(`"capAdd": ["NET_ADMIN"],`),
				[]byte("\"capAdd\": [\"NET_ADMIN\"], // why\n  \"forwardPorts\": [3000],"), 1)
		case ".devcontainer/Dockerfile":
			text = append(text, "RUN mine\n"...)
		}
		mine = append(mine, templates.File{Path: f.Path, Content: text})
	}
	r, err := lock.Update(l, l.Input(), nil, reader(mine), merge.Neither)
	if err != nil || len(r.Conflicts) > 0 {
		t.Fatal(err, r.Conflicts)
	}
	config, dockerfile := string(reader(r.Files)(".devcontainer/devcontainer.json")), string(reader(r.Files)(".devcontainer/Dockerfile"))
	for _, want := range []string{"--pids-limit=2048", "// why", `"forwardPorts": [3000]`} {
		if !strings.Contains(config, want) {
			t.Errorf("devcontainer.json lacks %s:\n%s", want, config)
		}
	}
	for _, want := range []string{"LANG=C.UTF-8", "RUN mine"} {
		if !strings.Contains(dockerfile, want) {
			t.Errorf("the Dockerfile lacks %s", want)
		}
	}
	if slices.ContainsFunc(r.Files, func(f templates.File) bool { return strings.HasSuffix(f.Path, "sandbox.jsonc") }) {
		t.Error("sandbox.jsonc changes, and the template's did not")
	}

	// An option that is gone is said, and stops nothing.
	l.Options["oldOption"] = "x"
	if r, err := lock.Update(l, l.Input(), nil, reader(mine), merge.Neither); err != nil ||
		!strings.Contains(strings.Join(r.Notes, "\n"), "oldOption") {
		t.Errorf("%v %v", err, r)
	}
}

// A file that the user removed stays away while the template does not change
// it; one that changed on the other side is a conflict.
func TestUpdateOfARemovedFile(t *testing.T) {
	l, files := newLock(t, lock.Input{Template: "claude-strict"})
	var mine []templates.File
	for _, f := range files {
		if !strings.HasSuffix(f.Path, "clone.sh") {
			mine = append(mine, f)
		}
	}
	if r, err := lock.Update(l, l.Input(), nil, reader(mine), merge.Neither); err != nil || len(r.Files)+len(r.Conflicts) > 0 {
		t.Errorf("%v: %v %v", err, r.Files, r.Conflicts)
	}
	l.Base[".devcontainer/clone.sh"] = []string{"older"}
	if r, err := lock.Update(l, l.Input(), nil, reader(mine), merge.Neither); err != nil || len(r.Conflicts) != 1 {
		t.Errorf("%v: %v", err, r.Conflicts)
	}
}

// TestUpdateSeesContentNotVersion: a template that changed under its version is
// merged like any other, and one that writes the same is still another.
func TestUpdateSeesContentNotVersion(t *testing.T) {
	l, files := newLock(t, lock.Input{Template: "claude"})
	for i, f := range files {
		if strings.HasSuffix(f.Path, "Dockerfile") {
			files[i].Content = bytes.Replace(f.Content, []byte("LANG=C.UTF-8"), []byte("LANG=C"), 1)
			l.Base[f.Path] = strings.Split(string(files[i].Content), "\n")
		}
	}
	r, err := lock.Update(l, l.Input(), nil, reader(files), merge.Neither)
	if err != nil || len(r.Files) != 1 || !bytes.Contains(r.Files[0].Content, []byte("LANG=C.UTF-8")) {
		t.Errorf("%v: %v", err, r.Files)
	}
	l, files = newLock(t, lock.Input{Template: "claude"})
	l.Template.Digest = "sha256:another"
	if r, err = lock.Update(l, l.Input(), nil, reader(files), merge.Neither); err != nil || len(r.Files) > 0 || r.OnlyMoved(l, files) ||
		r.Lock.Template.Digest == l.Template.Digest {
		t.Errorf("%v: %v %+v", err, r.Files, r.Lock.Template)
	}
}

// TestLockCannotNameOtherFiles: a lock of a hostile repository must not lead an
// update out of the folders that templates write to.
func TestLockCannotNameOtherFiles(t *testing.T) {
	for _, path := range []string{"../x", ".devcontainer/../../x", "/etc/passwd", ".git/config", ".github/workflows/other.yml",
		".devcontainer/a/b", ".devcontainer/..", `.devcontainer/a\b`, ".devcontainer/a\nb", ""} {
		text, err := json.Marshal(map[string]any{"lockVersion": 1, "template": map[string]string{"id": "claude", "version": "1", "digest": ""},
			"base": map[string][]string{path: {"x"}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lock.Parse(text); err == nil {
			t.Errorf("%q is accepted", path)
		}
	}
	for _, text := range []string{"", "{}", "null", "[]", `{"lockVersion": 2}`, `{"lockVersion": 1} {}`, `{"lockVersion": 1, "surprise": 1}`} {
		if _, err := lock.Parse([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// newRegistry is a registry in memory; its name is one that tools speak plain
// HTTP with.
func newRegistry(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// direct asks a registry once.
type direct struct{}

func (direct) Digest(ctx context.Context, reference string) (string, error) {
	digest, _, err := direct{}.Manifest(ctx, reference)
	return digest, err
}

func (direct) Manifest(ctx context.Context, reference string) (string, []byte, error) {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return "", nil, err
	}
	got, err := remote.Get(ref, remote.WithContext(ctx))
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", reference, err)
	}
	return got.Digest.String(), got.Manifest, nil
}

func TestLookUp(t *testing.T) {
	addr := newRegistry(t)
	image, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(addr + "/base:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(tag, image); err != nil {
		t.Fatal(err)
	}
	want, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	l, _ := newLock(t, lock.Input{Template: "claude", Options: map[string]string{"baseImage": addr + "/base:1"}})
	pinned := "other@sha256:" + strings.Repeat("1", 64)
	l.Images = append(l.Images, lock.Image{Reference: addr + "/missing:1", Digest: "sha256:old"},
		lock.Image{Reference: pinned, Digest: "sha256:" + strings.Repeat("1", 64)})
	l.Images = slices.DeleteFunc(l.Images, func(i lock.Image) bool { return strings.HasPrefix(i.Reference, "node:") })
	failed := l.LookUp(t.Context(), direct{})
	if len(failed) != 1 || !strings.Contains(failed[0].Error(), "missing:1") {
		t.Errorf("failed: %v", failed)
	}
	for _, i := range l.Images {
		if w := map[string]string{addr + "/base:1": want.String(), addr + "/missing:1": "sha256:old",
			pinned: "sha256:" + strings.Repeat("1", 64)}[i.Reference]; i.Digest != w {
			t.Errorf("%s: %s, want %s", i.Reference, i.Digest, w)
		}
	}
}

// client is what a push of a test works with: nobody's credentials.
func client() imageregistry.Options {
	return imageregistry.Real(imageregistry.Credentials{Getenv: func(string) string { return "" }}, nil)
}

func TestLockFeatures(t *testing.T) {
	addr := newRegistry(t)
	push := func(id, metadata string) string {
		t.Helper()
		artifacts, err := publish.Pack(publish.Features,
			[]publish.Source{{ID: id, Version: "1.2.3", Metadata: json.RawMessage(metadata), Archive: []byte("x" + id)}})
		if err != nil {
			t.Fatal(err)
		}
		reference, err := publish.Push(t.Context(), artifacts[0], addr+"/f", false, client())
		if err != nil {
			t.Fatal(err)
		}
		return reference
	}
	below := push("below", `{"id": "below", "version": "1.2.3"}`)
	top := push("top", `{"id": "top", "version": "1.2.3", "dependsOn": {"`+addr+`/f/below:1": {}}}`)
	files := []templates.File{{Path: ".devcontainer/devcontainer.json",
		Content: []byte(`{"features": {"` + addr + `/f/top:1.2": {}, "./local": {}, "https://x.example/devcontainer-feature-y.tgz": {}}}`)}}
	text, err := lock.LockFeatures(t.Context(), files, direct{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"` + addr + `/f/top:1.2": {`, `"resolved": "` + top + `"`, `"resolved": "` + below + `"`,
		`"version": "1.2.3"`, `"dependsOn": [`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if stale, err := lock.StaleFeatures(files, text); err != nil || len(stale) > 0 {
		t.Errorf("%v %v", err, stale)
	}
	if stale, err := lock.StaleFeatures(files, nil); err != nil || len(stale) != 1 {
		t.Errorf("without a lock: %v %v", err, stale)
	}
	if stale, err := lock.StaleFeatures(nil, text); err != nil || len(stale) != 1 {
		t.Errorf("without the Feature: %v %v", err, stale)
	}
	if _, err := lock.LockFeatures(context.Background(),
		[]templates.File{{Path: "devcontainer.json", Content: []byte(`{"features": {"` + addr + `/f/none:1": {}}}`)}}, direct{}); err == nil {
		t.Error("a Feature that is not there is locked")
	}
}

// BenchmarkUpdate is what 'update --check' does beside reading five files.
func BenchmarkUpdate(b *testing.B) {
	l, files := newLock(b,
		lock.Input{Template: "claude", Facts: templates.Facts{Pinned: []string{".git"}, ReadOnly: []string{".git/hooks", ".git/config"}}})
	text := l.Encode()
	for i := range files {
		if strings.HasSuffix(files[i].Path, "devcontainer.json") {
			files[i].Content = bytes.Replace(files[i].Content, []byte("2048"), []byte("4096"), 1)
		}
	}
	for b.Loop() {
		l, err := lock.Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		if r, err := lock.Update(l, l.Input(), nil, reader(files), merge.Neither); err != nil || len(r.Files) > 0 {
			b.Fatal(err, r)
		}
	}
}
