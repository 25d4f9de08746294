package pages

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/release"
)

// Every page has a title, a reason and two projects, in the form in which they are shown.
func TestEveryPageIsWhole(t *testing.T) {
	entries, err := archives.ReadDir(".")
	if err != nil || len(entries) < 100 {
		t.Fatal(len(entries), err)
	}
	for _, e := range entries {
		p := Of(strings.TrimSuffix(e.Name(), ".txtar"))
		if p.Title == "" || strings.HasSuffix(p.Title, ".") || strings.Contains(p.Title, "\n") {
			t.Errorf("%s: title %q", e.Name(), p.Title)
		}
		if !strings.HasSuffix(p.Reason, ".") || strings.Contains(p.Fix, "fix:") {
			t.Errorf("%s: reason %q, fix %q", e.Name(), p.Reason, p.Fix)
		}
		if len(p.Bad) == 0 || len(p.Good) == 0 || p.Bad.String() == p.Good.String() {
			t.Errorf("%s: bad %d files, good %d", e.Name(), len(p.Bad), len(p.Good))
		}
	}
}

// The parts of a page, and an example with one file and with several.
func TestOf(t *testing.T) {
	p := Of("SBX401")
	if p.Title != "the container gets the engine's socket" ||
		!strings.HasPrefix(p.Reason, "A program that talks to the engine") || p.Fix != "" {
		t.Errorf("got %q, %q, %q", p.Title, p.Reason, p.Fix)
	}
	if text := p.Good.String(); text != "{\n  \"image\": \"debian:13\"\n}\n" {
		t.Errorf("one file: %q", text)
	}
	p = Of("SBX806")
	if !strings.HasPrefix(p.Fix, "mounts gets the folder") {
		t.Errorf("fix %q", p.Fix)
	}
	files := p.Bad.Files()
	if names := slices.Sorted(maps.Keys(files)); !slices.Equal(names,
		[]string{".devcontainer/devcontainer.json", ".devcontainer/sandbox.jsonc"}) {
		t.Errorf("files %q", names)
	}
	if !strings.Contains(files[".devcontainer/devcontainer.json"], `"ghcr.io/`+release.Org+`/claude-sandbox:`) {
		t.Error("the image is not the publisher's")
	}
	if text := p.Bad.String(); !strings.HasPrefix(text, "-- .devcontainer/sandbox.jsonc --\n{}\n-- ") {
		t.Errorf("several files: %q", text)
	}
	if p := Of("SBX000"); p.Title != "" || p.Bad != nil {
		t.Errorf("no page: %v", p)
	}
}
