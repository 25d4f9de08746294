package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// releaseFiles looks at the files of the release in dir.
func releaseFiles(t *testing.T, w *workflows, dir string) {
	var have []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		have = append(have, e.Name())
	}
	want := []string{
		"SHA256SUMS", "install.sh", "sbx-devc-darwin-amd64", "sbx-devc-darwin-arm64", "sbx-devc-linux-amd64", "sbx-devc-linux-amd64.deb",
		"sbx-devc-linux-amd64.rpm", "sbx-devc-linux-arm64", "sbx-devc-linux-arm64.deb", "sbx-devc-linux-arm64.rpm", "sbx-devc-man.tar.gz",
		"sbx-devc-windows-amd64.exe", "sbx-devc.json", "sbx-devc.rb", "sbx-devc.spdx.json", "sbx-init-linux-amd64", "sbx-init-linux-arm64",
	}
	if !slices.Equal(have, want) {
		t.Errorf("the release has %v, want %v", have, want)
	}
	if sums := w.run(dir, "sha256sum", "-c", "SHA256SUMS"); strings.Count(sums, ": OK") != len(want)-1 {
		t.Errorf("checksums: %s", sums)
	}
	calls, err := os.ReadFile(filepath.Join(w.results, "gh.log"))
	if err != nil || !strings.Contains(string(calls), "release create v1.2.3 --draft --verify-tag") ||
		!strings.HasSuffix(string(calls), "release edit v1.2.3 --draft=false --latest=true\n") ||
		strings.Contains(string(calls), "--prerelease") {
		t.Errorf("gh was called with %q, %v", calls, err)
	}

	var bill struct {
		Packages      []struct{ Name, VersionInfo string }
		Relationships []struct{ RelationshipType string }
	}
	if err := json.Unmarshal([]byte(readFile(t, filepath.Join(dir, "sbx-devc.spdx.json"))), &bill); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, p := range bill.Packages {
		names[p.Name] = true
	}
	for _, name := range []string{"sbx-devc-windows-amd64.exe", "sbx-init-linux-arm64", "stdlib", "github.com/spf13/cobra",
		"github.com/vishvananda/netlink"} {
		if !names[name] {
			t.Errorf("the bill of materials lacks %s", name)
		}
	}
}

// releaseInstalls takes each way to the program that the manual names.
func releaseInstalls(t *testing.T, w *workflows, dir, mirror string) {
	version := func(t *testing.T, program string) {
		t.Helper()
		if out := w.run(dir, program, "version"); !strings.HasPrefix(out, "sbx-devc 1.2.3 linux/") {
			t.Errorf("the program says that it is %s", out)
		}
	}
	deb := filepath.Join(dir, "sbx-devc-linux-"+runtime.GOARCH+".deb")
	rpm := filepath.Join(dir, "sbx-devc-linux-"+runtime.GOARCH+".rpm")
	manual := "/usr/share/man/man1/sbx-devc-run.1.gz"
	t.Run("script", func(t *testing.T) {
		home := t.TempDir()
		script := filepath.Join(dir, "install.sh")
		for range 2 {
			w.run(dir, "env", "-i", "HOME="+home, "PATH="+os.Getenv("PATH"), "CLAUDE_SANDBOX_MIRROR="+mirror, "sh", "-c",
				"curl -fsSL "+mirror+"/"+workflowOwner+"/claude-sandbox/releases/latest/download/install.sh | sh")
			version(t, filepath.Join(home, ".local/bin/sbx-devc"))
		}
		// A script that arrived in part does nothing.
		text := readFile(t, script)
		half := filepath.Join(home, "half.sh")
		w.write(half, text[:strings.LastIndex(text, "main")], 0o644)
		empty := t.TempDir()
		w.run(dir, "env", "-i", "HOME="+empty, "PATH="+os.Getenv("PATH"), "sh", half)
		if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
			t.Errorf("half of the script made %v, %v", left, err)
		}
	})
	t.Run("deb", func(t *testing.T) {
		testenv.Root(t)
		root := t.TempDir()
		for _, name := range []string{"info", "updates"} {
			if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		w.write(filepath.Join(root, "var/lib/dpkg/status"), "", 0o644)
		w.run(dir, testenv.Program(t, "dpkg"), "--root="+root, "--force-not-root", "--log="+filepath.Join(root, "log"), "-i", deb)
		version(t, filepath.Join(root, "usr/bin/sbx-devc"))
		if _, err := os.Stat(filepath.Join(root, manual)); err != nil {
			t.Error(err)
		}
		w.run(dir, "dpkg", "--root="+root, "--log="+filepath.Join(root, "log"), "--purge", "sbx-devc")
		if _, err := os.Stat(filepath.Join(root, "usr/bin/sbx-devc")); err == nil {
			t.Error("the program is still there")
		}
	})
	t.Run("rpm", func(t *testing.T) {
		program := testenv.Program(t, "rpm")
		root := t.TempDir()
		w.run(dir, program, "--root", root, "--initdb")
		w.run(dir, program, "--root", root, "--nodeps", "--nosignature", "-i", rpm)
		version(t, filepath.Join(root, "usr/bin/sbx-devc"))
		if got := w.run(dir, program, "--root", root, "-q", "--queryformat", "%{NAME} %{VERSION} %{LICENSE} %{URL}",
			"sbx-devc"); got != "sbx-devc 1.2.3 Apache-2.0 https://github.com/"+workflowOwner+"/claude-sandbox" {
			t.Error(got)
		}
		if _, err := os.Stat(filepath.Join(root, manual)); err != nil {
			t.Error(err)
		}
	})
	t.Run("formula", func(t *testing.T) { version(t, brewed(t, dir, mirror)) })
	t.Run("manifest of Scoop", func(t *testing.T) { scooped(t, dir, mirror) })
	t.Run("go install", func(t *testing.T) {
		// The module's name is the one in its source, whoever publishes it; the host of the test has it.
		home := t.TempDir()
		config := filepath.Join(home, ".gitconfig")
		w.write(config, "[url \""+w.host()+"\"]\n\tinsteadOf = https://github.com/org/claude-sandbox\n", 0o644)
		shared := strings.TrimSpace(w.run(w.project, "go", "env", "GOMODCACHE"))
		w.run(home, "env", "GIT_CONFIG_GLOBAL="+config, "GOPRIVATE=github.com/org/claude-sandbox", "GOPROXY=file://"+shared+"/cache/download",
			"GOSUMDB=off", "GOMODCACHE="+filepath.Join(home, "modules"), "GOFLAGS=-modcacherw -trimpath", "GOBIN="+filepath.Join(home, "bin"),
			"CGO_ENABLED=0", "GOTOOLCHAIN=local", "go", "install", "github.com/org/claude-sandbox/cmd/sbx-devc@v1.2.3")
		program := filepath.Join(home, "bin", "sbx-devc")
		version(t, program)
		// It has the programs that go into containers.
		project := filepath.Join(home, "project")
		w.write(filepath.Join(project, "README.md"), "A project.\n", 0o644)
		w.run(project, "env", "HOME="+home, program, "init", "--yes")
		locked := readFile(t, filepath.Join(project, ".devcontainer", "sandbox.lock"))
		for _, arch := range []string{"amd64", "arm64"} {
			sum := strings.Fields(w.run(dir, "sha256sum", "sbx-init-linux-"+arch))[0]
			if !strings.Contains(locked, sum) {
				t.Errorf("it carries no sbx-init for %s: %s", arch, locked)
			}
		}
	})
}

// brewed installs by the release's formula, and returns the program.
func brewed(t *testing.T, dir, mirror string) string {
	t.Helper()
	prefix := t.TempDir()
	out, err := exec.Command(testenv.Program(t, "ruby"), "testdata/brew.rb", filepath.Join(dir, "sbx-devc.rb"), mirror,
		prefix).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"completions/zsh", "share/man/man1/sbx-devc-run.1"} {
		if info, err := os.Stat(filepath.Join(prefix, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	return filepath.Join(prefix, "bin", "sbx-devc")
}

// scooped does what Scoop does with the release's manifest, but for the link to the program.
func scooped(t *testing.T, dir, mirror string) {
	t.Helper()
	type place struct{ URL, Hash string }
	type places struct {
		Architecture map[string]place `json:"architecture"`
	}
	var m struct {
		Version, Description, Homepage, License, Bin, Checkver string
		places
		Autoupdate places
	}
	decoder := json.NewDecoder(strings.NewReader(readFile(t, filepath.Join(dir, "sbx-devc.json"))))
	decoder.DisallowUnknownFields() // Scoop's own schema has these alone, and others that we do not use
	if err := decoder.Decode(&m); err != nil {
		t.Fatal(err)
	}
	at := m.Architecture["64bit"]
	address, name, _ := strings.Cut(at.URL, "#/") // after it is the name that the file gets
	resp, err := http.Get(strings.Replace(address, "https://github.com", mirror, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, resp.Body); err != nil || hex.EncodeToString(sum.Sum(nil)) != at.Hash {
		t.Errorf("%s: %v, %x, want %s", address, err, sum.Sum(nil), at.Hash)
	}
	if name != m.Bin || len(m.Architecture) != 1 || m.Description == "" || m.License != "Apache-2.0" {
		t.Errorf("%+v", m)
	}
	// Of the next version, which it looks for at the homepage.
	next := m.Autoupdate.Architecture["64bit"].URL
	if m.Checkver != "github" || !strings.HasPrefix(m.Homepage, "https://github.com/") ||
		strings.ReplaceAll(next, "$version", m.Version) != at.URL {
		t.Errorf("a new version is not found: %+v", m)
	}
}

// The formula and the manifest lead to the programs of their release, with programs of a line;
// make release-dry-run does the same with the real ones.
func TestManifestsOfARelease(t *testing.T) {
	host := t.TempDir()
	dir := filepath.Join(host, "Some", "claude-sandbox", "releases", "download", "v1.2.3")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"darwin-amd64", "darwin-arm64", "linux-amd64", "linux-arm64", "windows-amd64.exe"} {
		if err := os.WriteFile(filepath.Join(dir, "sbx-devc-"+name), []byte("#!/bin/sh\necho sbx-devc 1.2.3 "+name+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) {
		cmd := exec.Command(testenv.Program(t, name), args...)
		cmd.Env = append(os.Environ(), "SBX_REPOSITORY=Some/claude-sandbox")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v: %s", name, args, err, out)
		}
	}
	manual := t.TempDir()
	if err := os.WriteFile(filepath.Join(manual, "sbx-devc-run.1"), []byte(".TH x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run("tar", "-C", manual, "-czf", filepath.Join(dir, "sbx-devc-man.tar.gz"), ".")
	run("bash", "../../scripts/release", "manifests", "1.2.3", dir)
	server := httptest.NewServer(http.FileServer(http.Dir(host)))
	defer server.Close()
	if out, err := exec.Command(brewed(t, dir, server.URL), "version").Output(); err != nil ||
		!strings.HasPrefix(string(out), "sbx-devc 1.2.3 linux-") {
		t.Errorf("%q, %v", out, err)
	}
	scooped(t, dir, server.URL)
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
