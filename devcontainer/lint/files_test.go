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

// A finding in a file that two configurations share is reported once, also where others were checked in between.
func TestSharedFilesAreReportedOnce(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a/.devcontainer/devcontainer.json": `{"build": {"dockerfile": "../../Dockerfile"}}`,
		"b/.devcontainer/devcontainer.json": `{"image": "alpine:3.20"}`,
		"c/.devcontainer/devcontainer.json": `{"build": {"dockerfile": "../../Dockerfile"}}`,
		"Dockerfile":                        "FROM debian:13\nRUN cd /srv\n", ".git/HEAD": "",
	} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	var files Files
	for _, name := range []string{"a", "b", "c"} {
		if err := files.Open(context.Background(), []string{filepath.Join(dir, name, ".devcontainer", "devcontainer.json")}); err != nil {
			t.Fatal(err)
		}
	}
	said := 0
	for _, f := range files.Findings {
		if f.Rule == "SBX734" {
			said++
		}
	}
	if said != 1 {
		t.Errorf("the lost folder is reported %d times: %v", said, files.Findings)
	}
}
