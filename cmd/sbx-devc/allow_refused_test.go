//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/enginetest"
)

// A file that the next run refuses does not hold from the next run on, and allow does
// not say so.
func TestAllowDoesNotPromiseARunThatRefusesTheFile(t *testing.T) {
	enginetest.Connect(t)
	env := map[string]string{"XDG_CONFIG_HOME": t.TempDir(), "XDG_STATE_HOME": t.TempDir(), "HOME": t.TempDir()}
	dir := t.TempDir()
	allow := func(host string) string {
		t.Helper()
		var out bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &out, getenv: func(name string) string { return env[name] }}
		if code := a.main(t.Context(), []string{"allow", host, "--project", dir}); code != 0 {
			t.Errorf("exit %d: %s", code, &out)
		}
		return out.String()
	}
	if out := allow("one.example"); !strings.Contains(out, "it holds from the next run on") {
		t.Errorf("trusted: said %s", out)
	}
	writeFiles(t, dir, map[string]string{".devcontainer/sandbox.jsonc": `{"network": {"allow": ["evil.example"]}}`})
	if out := allow("two.example"); strings.Contains(out, "next run on") || !strings.Contains(out, "once you trust the file") {
		t.Errorf("not trusted: said %s", out)
	}

	if err := os.RemoveAll(filepath.Join(dir, ".devcontainer")); err != nil {
		t.Fatal(err)
	}
	writeFiles(t, dir, map[string]string{".devcontainer/devcontainer.json": `{"image": "debian", "features": {"./firewall": {"allow": ""}}}`,
		".devcontainer/firewall/devcontainer-feature.json": `{"id": "firewall", "entrypoint": "/usr/local/share/sbx/entrypoint.sh"}`})
	if out := allow("three.example"); !strings.Contains(out, "in runs once you trust the project") {
		t.Errorf("options of the Feature: said %s", out)
	}
}
