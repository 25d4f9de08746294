package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/features"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/lock"
	"github.com/org/claude-sandbox/templates/publish"
)

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
		{"a digest is pinned", "Dockerfile", "claude", pull(`FROM node:22-bookworm-slim`, "$0"+pin),
			"node:22-bookworm-slim" + pin + " is not locked; node:22-bookworm-slim is"},
		{"another tag", "Dockerfile", "claude-python", pull(`uv:0\.9 `, "uv:0.10.2"+pin+" "),
			"uv:0.10.2" + pin + " is not locked; ghcr.io/astral-sh/uv:0.9 is"},
		{"a digest for one stage of two", "Dockerfile", "claude-node",
			pull(`FROM node:22-bookworm-slim AS`, "FROM node:22-bookworm-slim"+pin+" AS"),
			"node:22-bookworm-slim" + pin + " is not locked; node:22-bookworm-slim is"},
		{"both stages of one image", "Dockerfile", "claude-strict", pull(`debian:bookworm-slim`, "$0"+pin), "debian:bookworm-slim" + pin},
		{"Claude Code", "Dockerfile", "claude-minimal", pull(`2\.1\.329`, "2.1.999", `sha512-\S+`, sum),
			"Claude Code 2.1.329 is locked, and the Dockerfile installs 2.1.999"},
		{"sbx-init", "Dockerfile", "claude-go", pull(`(claude-sandbox-init):\S+`, "$1:v9.9.9"),
			"is locked, and the Dockerfile copies that of ghcr.io/" + release.Org + "/claude-sandbox-init:v9.9.9"},
		{"the Action", "../.github/workflows/claude.yml", "claude-node",
			pull(`(claude-sandbox)@v1`, "$1@"+strings.Repeat("c", 40)+" # v1.2.3"), ""},
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
			want := exitFindings
			if b.moved == "" { // the lock says nothing of the workflow
				want = 0
			}
			if code, said, _ := call(t, "lock", "--check", dir); code != want || !strings.Contains(said, b.moved) {
				t.Errorf("lock --check: exit %d\n%s", code, said)
			}
			for _, check := range [][]string{{"drift", dir}, {"update", "--check", dir}} {
				code, out, said := call(t, check...)
				if code != 0 || out != "" || b.moved != "" &&
					(!strings.Contains(said, b.moved) || !strings.Contains(said, "'sbx-devc lock --update' records it")) {
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
			if code, after, _ := call(t, "lock", "--check", dir); b.moved != "" && strings.Contains(after, b.moved) || code == 0 && before != "" &&
				!strings.Contains(bumped, pin) {
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

// TestDependabotMovesTheFeature does what Dependabot does for dev containers:
// it asks the official CLI what is outdated and lets it write the new version
// into devcontainer.json and its lock.
func TestDependabotMovesTheFeature(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "devcontainer")
	addr := startRegistry(t)
	f, err := features.Firewall()
	if err != nil {
		t.Fatal(err)
	}
	archive, err := f.Archive()
	if errors.Is(err, carried.ErrNotCarried) {
		testenv.Missing(t, "the carried sbx-init", err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"0.1.0", "0.2.0"} {
		as := func(text []byte) []byte { return bytes.Replace(text, []byte(f.Version), []byte(version), 1) }
		artifacts, err := publish.Pack(publish.Features,
			[]publish.Source{{ID: f.ID, Version: version, Metadata: as(f.Metadata), Archive: as(archive)}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := publish.Push(t.Context(), artifacts[0], addr+"/org/features", false,
			registry.Real(registry.Credentials{Getenv: os.Getenv}, nil)); err != nil {
			t.Fatal(err)
		}
	}
	dir, feature := t.TempDir(), addr+"/org/features/firewall"
	config := filepath.Join(dir, ".devcontainer", "devcontainer.json")
	if err := os.Mkdir(filepath.Dir(config), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte("{\n  // ours\n  \"image\": \"debian:bookworm-slim\", \"remoteUser\": \"dev\"\n}\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, said := call(t, "init", "--extend", dir); code != 0 {
		t.Fatal(said)
	}
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte(templates.LocalFeature), []byte(feature+":0.1.0"))
	if err := os.WriteFile(config, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, said := call(t, "lock", "--update", dir); code != 0 {
		t.Fatal(said)
	}
	dependabot := func(args ...string) []byte {
		t.Helper()
		cmd := testenv.Devcontainer(t, append(args, "--workspace-folder", ".", "--config", ".devcontainer/devcontainer.json")...)
		cmd.Dir = dir
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("devcontainer %v: %v\n%s", args, err, &errs)
		}
		return out
	}
	var outdated struct {
		Features map[string]struct{ Current, Wanted, Latest string }
	}
	if err := json.Unmarshal(dependabot("outdated", "--output-format", "json"), &outdated); err != nil {
		t.Fatal(err)
	}
	if f := outdated.Features[feature+":0.1.0"]; f.Current != "0.1.0" || f.Latest != "0.2.0" {
		t.Errorf("outdated: %+v", outdated)
	}
	dependabot("upgrade", "--feature", feature, "--target-version", "0.2.0")
	now, err := os.ReadFile(config)
	if want := strings.ReplaceAll(string(text), ":0.1.0", ":0.2.0"); err != nil || string(now) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, now, want)
	}
	if code, out, said := call(t, "lock", "--check", dir); code != 0 {
		t.Errorf("lock --check: exit %d\n%s%s", code, out, said)
	}
	before, err := os.ReadFile(filepath.Join(dir, lock.FeaturesPath))
	if err != nil || !strings.Contains(string(before), `"version": "0.2.0"`) {
		t.Errorf("%v\n%s", err, before)
	}
	if code, _, said := call(t, "lock", "--update", dir); code != 0 || !strings.Contains(said, "up to date") {
		t.Errorf("lock --update: exit %d\n%s", code, said)
	}
}
