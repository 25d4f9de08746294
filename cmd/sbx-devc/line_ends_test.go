package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Git on Windows checks text out with carriage returns. That is no edit and no
// drift, 'drift' and 'update --check' agree about it, and an update keeps them.
func TestWindowsLineEndsAreNoEdit(t *testing.T) {
	dir := t.TempDir()
	if code, _, said := call(t, "init", dir, "--no-detect"); code != 0 {
		t.Fatal(said)
	}
	files, err := filepath.Glob(filepath.Join(dir, ".devcontainer", "*"))
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, check := range [][]string{{"drift", "--edits", dir}, {"update", "--check", dir}} {
		if code, out, said := call(t, check...); code != 0 || strings.Contains(said, "edited") {
			t.Errorf("%v: exit %d\n%s%s", check, code, out, said)
		}
	}
	if code, _, said := call(t, "update", "--option", "timezone=Europe/Berlin", "--option", "gitPreset=gitlab", dir); code != 0 {
		t.Fatal(said)
	}
	for name, want := range map[string]string{"Dockerfile": "TZ=Europe/Berlin\r\n", "sandbox.jsonc": `"gitlab"`} {
		text, err := os.ReadFile(filepath.Join(dir, ".devcontainer", name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) || strings.Count(string(text), "\n") != strings.Count(string(text), "\r\n") {
			t.Errorf("%s has not %q, or line ends of two kinds:\n%q", name, want, text)
		}
	}
}
