package lint

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
)

func TestFilesOfAnyKindAreChecked(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	config := file("a/.devcontainer/devcontainer.json", `{"image": "debian:13", "privileged": true, "nonsense": 1}`)
	settings := file("b/.devcontainer/sandbox.jsonc", `{"network": {"alow": []}}`)
	missing := filepath.Join(dir, "c", ".devcontainer", "devcontainer.json")
	var f Files
	err := f.Open(t.Context(), []string{missing, config, settings})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), filepath.Join(dir, "c")) {
		t.Errorf("the missing file is %v", err)
	}
	if f.Text("-", []byte(`{"image": 1}`)); f.Checked != 3 || len(f.Sources) != 3 {
		t.Errorf("%d checked, %d sources", f.Checked, len(f.Sources))
	}
	for _, file := range []string{config, settings, "-"} {
		if !slices.ContainsFunc(f.Findings, func(d diag.Finding) bool { return d.File == file }) {
			t.Errorf("nothing is found in %s", file)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	before := f.Checked
	if err := f.Open(ctx, []string{config}); !errors.Is(err, context.Canceled) || f.Checked != before {
		t.Errorf("%v, %d more checked", err, f.Checked-before)
	}
}
