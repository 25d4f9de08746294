package release

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// manifests makes the files for people of a release with small programs, and a server that
// stands for the release's host. It returns the folder that the server shows of the release.
func manifests(t *testing.T) (folder, address string) {
	t.Helper()
	testenv.Program(t, "bash")
	if runtime.GOOS != "linux" {
		t.Skip("releases are made on Linux")
	}
	root := t.TempDir()
	folder = filepath.Join(root, "Some/claude-sandbox/releases/download/v1.2.3")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64", "windows-amd64.exe", "man.tar.gz"} {
		if err := os.WriteFile(filepath.Join(folder, "sbx-devc-"+name), []byte("#!/bin/sh\necho "+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("../../scripts/release", "manifests", "v1.2.3", folder)
	cmd.Env = append(os.Environ(), "SBX_REPOSITORY=Some/claude-sandbox")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(root)))
	t.Cleanup(server.Close)
	return folder, server.URL
}

func TestThePersonsInstallScript(t *testing.T) {
	folder, address := manifests(t)
	script := filepath.Join(folder, "install.sh")
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	run := func(stdin, mirror, dir string) (string, error) {
		cmd := exec.Command("sh")
		cmd.Stdin = strings.NewReader(stdin)
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "CLAUDE_SANDBOX_MIRROR=" + mirror, "SBX_INSTALL_DIR=" + dir}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	program := filepath.Join(home, ".local/bin/sbx-devc")
	for _, want := range []string{"installed sbx-devc 1.2.3 in ", "sbx-devc 1.2.3 is in "} {
		out, err := run(string(text), address, "")
		if err != nil || !strings.HasPrefix(out, want) || !strings.Contains(out, "to your PATH") {
			t.Errorf("%v: %s", err, out)
		}
	}
	if out, err := exec.Command(program).Output(); err != nil || string(out) != "linux-"+runtime.GOARCH+"\n" {
		t.Errorf("%s, %v", out, err)
	}

	// Attack: the connection ends in the middle of the script; each part does nothing or fails.
	for n := 0; n < len(text)-len("main\n"); n += 97 {
		dir := filepath.Join(home, "part")
		_, _ = run(string(text[:n]), address, dir)
		if _, err := os.Lstat(dir); err == nil {
			t.Fatalf("%d bytes of the script installed something", n)
		}
	}
	// Attack: the host has another program.
	if err := os.WriteFile(filepath.Join(folder, "sbx-devc-linux-"+runtime.GOARCH), []byte("#!/bin/sh\necho evil\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for mirror, want := range map[string]string{address: "is pinned; nothing was installed", "http://127.0.0.1:1": "could not be fetched"} {
		dir := filepath.Join(home, "other")
		out, err := run(string(text), mirror, dir)
		left, _ := os.ReadDir(dir)
		if err == nil || !strings.HasPrefix(out, "sbx-devc: error: ") || !strings.Contains(out, want) ||
			!strings.Contains(out, "sbx-devc: hint: ") || len(left) > 0 {
			t.Errorf("%v, left %v: %s", err, left, out)
		}
	}
}

// Each file that a package manager fetches stands with its own sum.
func TestTheManifestsNameTheirFiles(t *testing.T) {
	folder, _ := manifests(t)
	const place = "https://github.com/Some/claude-sandbox/releases/download/v1.2.3/"
	sum := func(name string) string {
		out, err := exec.Command("sha256sum", filepath.Join(folder, name)).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(out))[0]
	}
	formula, err := os.ReadFile(filepath.Join(folder, "sbx-devc.rb"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sbx-devc-linux-amd64", "sbx-devc-linux-arm64", "sbx-devc-darwin-amd64", "sbx-devc-darwin-arm64",
		"sbx-devc-man.tar.gz"} {
		_, after, ok := strings.Cut(string(formula), `url "`+place+name+`"`)
		if !ok || !strings.HasPrefix(strings.TrimSpace(after), `sha256 "`+sum(name)+`"`) {
			t.Errorf("the formula lacks %s: %s", name, formula)
		}
	}
	var manifest struct {
		Version      string
		Architecture map[string]struct{ URL, Hash string }
	}
	text, err := os.ReadFile(filepath.Join(folder, "sbx-devc.json"))
	if err == nil {
		err = json.Unmarshal(text, &manifest)
	}
	const windows = "sbx-devc-windows-amd64.exe"
	if got := manifest.Architecture["64bit"]; err != nil || manifest.Version != "1.2.3" || got.URL != place+windows+"#/sbx-devc.exe" ||
		got.Hash != sum(windows) {
		t.Errorf("%v: %s", err, text)
	}
	for _, name := range []string{"sbx-devc.rb", "sbx-devc.json", "install.sh"} {
		if text, err := os.ReadFile(filepath.Join(folder, name)); err != nil || strings.Contains(string(text), "@SHA256") ||
			strings.Contains(string(text), "@VERSION") {
			t.Errorf("%s is not filled in, %v", name, err)
		}
	}
}
