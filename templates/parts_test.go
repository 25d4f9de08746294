package templates_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/test/golden"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// include stands on a line of its own and names a file of parts/shared, whose
// lines take its place at its indentation.
var include = regexp.MustCompile(`(?m)^([ \t]*)#include (\S+)$`)

// assemble makes the standard templates out of parts: what several share stands
// there once, and src, which is embedded and published, holds plain files that
// need nothing of ours to be read.
func assemble(parts fs.FS) (map[string][]byte, error) {
	out := map[string][]byte{}
	err := fs.WalkDir(parts, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		id, file, nested := strings.Cut(name, "/")
		if entry.IsDir() || id == "shared" || !nested {
			return nil
		}
		text, err := fs.ReadFile(parts, name)
		if err != nil {
			return err
		}
		if file != "devcontainer-template.json" {
			file = ".devcontainer/" + file
		}
		out[id+"/"+file], err = expand(parts, text)
		return err
	})
	return out, err
}

func expand(parts fs.FS, text []byte) (out []byte, err error) {
	out = include.ReplaceAllFunc(text, func(line []byte) []byte {
		m := include.FindSubmatch(line)
		part, readErr := fs.ReadFile(parts, "shared/"+string(m[2]))
		if readErr != nil {
			err = readErr
		}
		var b bytes.Buffer
		for l := range strings.Lines(strings.TrimSuffix(string(part), "\n")) {
			if l != "\n" {
				b.Write(m[1])
			}
			b.WriteString(l)
		}
		return b.Bytes()
	})
	return out, err
}

// TestSourcesAreAssembledFromParts keeps src what parts make of it; -update
// (make golden) writes it.
func TestSourcesAreAssembledFromParts(t *testing.T) {
	want, err := assemble(os.DirFS("parts"))
	if err != nil {
		t.Fatal(err)
	}
	if len(want) < 20 {
		t.Fatalf("parts make only %d files", len(want))
	}
	if golden.Updating() {
		if err := writeSources(want); err != nil {
			t.Fatal(err)
		}
	}
	err = filepath.WalkDir("src", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		got, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(filepath.ToSlash(name), "src/")
		if text, ok := want[rel]; !ok {
			t.Errorf("%s comes from no part", name)
		} else if !bytes.Equal(got, text) {
			t.Errorf("%s is not what parts make of it; edit parts and run make golden", name)
		}
		delete(want, rel)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range want {
		t.Errorf("src/%s is missing; run make golden", name)
	}
}

func writeSources(files map[string][]byte) error {
	if err := os.RemoveAll("src"); err != nil {
		return err
	}
	for name, text := range files {
		target := filepath.Join("src", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, text, 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", target, err)
		}
	}
	return nil
}

// A socket of the host that the list gains must be closed in the templates, too.
func TestTemplatesCloseEverySocketOfEditors(t *testing.T) {
	for _, id := range templates.IDs() {
		files := render(t, id, nil)
		i := slices.IndexFunc(files, func(f templates.File) bool { return path.Base(f.Path) == "devcontainer.json" })
		doc, findings := jsonc.Parse(files[i].Path, files[i].Content)
		if len(findings) > 0 {
			t.Fatal(id, findings)
		}
		env := doc.Root.Member("remoteEnv")
		for _, name := range obeyed.EditorVariables() {
			if n := env.Member(name); n == nil || n.Kind != jsonc.Null {
				t.Errorf("%s does not set %s to null in remoteEnv", id, name)
			}
		}
	}
}
