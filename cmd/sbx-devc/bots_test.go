package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/lock"
)

// call runs the command line in this process.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: os.Getenv}
	code = a.main(t.Context(), args)
	return code, out.String(), errs.String()
}

// fromLine is what Dependabot reads of a Dockerfile: lines, each on its own, that
// begin with FROM and name an image by tag, digest or both.
var fromLine = regexp.MustCompile(`(?m)^FROM\s+([a-z0-9./-]+):([\w.-]+)(@sha256:[0-9a-f]{64})?(\s+AS\s+[\w-]+)?$`)

// TestBotsFindEveryImage: Dependabot knows FROM alone, at the start of a line,
// and no variable in it. Every image that a template takes something from stands
// there; only sbx-init is 'sbx-devc update”s.
func TestBotsFindEveryImage(t *testing.T) {
	for _, id := range templates.IDs() {
		tmpl, err := templates.Load(id)
		if err != nil {
			t.Fatal(err)
		}
		files, err := tmpl.Render(nil)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, f := range files {
			if filepath.Base(f.Path) != "Dockerfile" {
				continue
			}
			for _, m := range fromLine.FindAllStringSubmatch(string(f.Content), -1) {
				found = append(found, m[1]+":"+m[2])
			}
			stages := len(dockerfile.Parse(f.Path, f.Content, dockerfile.Options{}).Stages)
			if stages != len(found) {
				t.Errorf("%s: %d stages, and a bot finds %d", id, stages, len(found))
			}
		}
		for _, reference := range lock.References(files) {
			if !slices.Contains(found, reference) {
				t.Errorf("%s: no bot finds %s", id, reference)
			}
		}
	}
}

// TestBotsMovePins makes the replacements that Renovate and Dependabot make. The
// files stay valid, what they moved is no drift, no update takes it back, and
// the lock says so until it is renewed.
func TestBotsMovePins(t *testing.T) {
	pin := "@sha256:" + strings.Repeat("a", 64)
	sum := "sha512-" + strings.Repeat("b", 86) + "=="
	pull := func(pairs ...string) [][2]string {
		var out [][2]string
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, [2]string{pairs[i], pairs[i+1]})
		}
		return out
	}
	bumps := []struct {
		name, file string
		id         string
		pairs      [][2]string // regular expression, replacement
		moved      string      // in what 'lock --check' says
	}{
		{"a digest is pinned", "Dockerfile", "claude", pull(`FROM node:22-bookworm-slim`, "$0"+pin), "node:22-bookworm-slim" + pin + " is not locked; node:22-bookworm-slim is"},
		{"another tag", "Dockerfile", "claude-python", pull(`uv:0\.9 `, "uv:0.10.2"+pin+" "), "uv:0.10.2" + pin + " is not locked; ghcr.io/astral-sh/uv:0.9 is"},
		{"both stages of one image", "Dockerfile", "claude-strict", pull(`debian:bookworm-slim`, "$0"+pin), "debian:bookworm-slim" + pin},
		{"Claude Code", "Dockerfile", "claude-minimal", pull(`2\.1\.329`, "2.1.999", `sha512-\S+`, sum), "Claude Code 2.1.329 is locked, and the Dockerfile installs 2.1.999"},
		{"sbx-init", "Dockerfile", "claude-go", pull(`(claude-sandbox-init):\S+`, "$1:v9.9.9"), "is locked, and the Dockerfile copies that of ghcr.io/" + release.Org + "/claude-sandbox-init:v9.9.9"},
		{"the Action", "../.github/workflows/claude.yml", "claude-node", pull(`(claude-sandbox)@v1`, "$1@"+strings.Repeat("c", 40)+" # v1.2.3"), ""},
	}
	for _, b := range bumps {
		t.Run(b.name, func(t *testing.T) {
			dir := t.TempDir()
			if code, _, said := call(t, "init", dir, "--no-detect", "--with-workflow", "--template", b.id); code != 0 {
				t.Fatal(said)
			}
			_, before, _ := call(t, "lock", "--check", dir)
			file := filepath.Join(dir, ".devcontainer", b.file)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			bumped := string(text)
			for _, p := range b.pairs {
				now := regexp.MustCompile(p[0]).ReplaceAllString(bumped, strings.Replace(p[1], "$0", "${0}", 1))
				if now == bumped {
					t.Fatalf("no %s in\n%s", p[0], bumped)
				}
				bumped = now
			}
			if err := os.WriteFile(file, []byte(bumped), 0o644); err != nil {
				t.Fatal(err)
			}
			if code, said, _ := call(t, "validate", "--fail-on", "error", dir); code != 0 {
				t.Errorf("validate: %s", said)
			}
			if code, said, _ := call(t, "lock", "--check", dir); code != exitFindings || !strings.Contains(said, b.moved) {
				t.Errorf("lock --check: exit %d\n%s", code, said)
			}
			for _, check := range [][]string{{"drift", dir}, {"update", "--check", dir}} {
				code, out, said := call(t, check...)
				if code != 0 || out != "" || b.moved != "" && (!strings.Contains(said, b.moved) || !strings.Contains(said, "'sbx-devc lock --update' records it")) {
					t.Errorf("%s: exit %d\n%s%s", check[0], code, out, said)
				}
			}
			// An update with something to merge keeps it, and records it.
			if code, _, said := call(t, "update", "--option", "timezone=Europe/Berlin", dir); code != 0 {
				t.Fatalf("update: %s", said)
			}
			now, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Replace(bumped, "TZ=UTC", "TZ=Europe/Berlin", 1); string(now) != want {
				t.Errorf("the update made\n%s\nwant\n%s", now, want)
			}
			if code, after, _ := call(t, "lock", "--check", dir); b.moved != "" && strings.Contains(after, b.moved) || code == 0 && before != "" && !strings.Contains(bumped, pin) {
				t.Errorf("after the update the lock does not know it: exit %d\n%s", code, after)
			}
			if code, out, said := call(t, "drift", dir); code != 0 || strings.Contains(said, "records it") {
				t.Errorf("drift after the update: exit %d\n%s%s", code, out, said)
			}
		})
	}
	t.Run("another image is drift", func(t *testing.T) {
		dir := t.TempDir()
		if code, _, said := call(t, "init", dir, "--no-detect"); code != 0 {
			t.Fatal(said)
		}
		file := filepath.Join(dir, ".devcontainer", "Dockerfile")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte("FROM node:"), []byte("FROM evil/node:")), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, check := range []string{"drift", "update"} {
			args := []string{check, dir}
			if check == "update" {
				args = append(args, "--check")
			}
			if code, out, said := call(t, args...); code != exitFindings {
				t.Errorf("%s: exit %d\n%s%s", check, code, out, said)
			}
		}
	})
}
