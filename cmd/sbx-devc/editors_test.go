package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/org/claude-sandbox/internal/test/golden"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

var editors = filepath.Join("..", "..", "editors")

// The extension of Visual Studio Code starts this server with the user's program, not with
// a workspace's, gets findings, an explanation, a correction and names, ends it, and says how to
// help when there is none. The editor is a stand-in; the client is the editor's own protocol
// library. What both sides say is the recorded session; -update records it again.
func TestVSCodeExtension(t *testing.T) {
	node := testenv.Program(t, "node")
	modules := filepath.Join(testenv.ToolsDir(), "npm", "node_modules")
	if _, err := os.Stat(filepath.Join(modules, "vscode-languageserver-protocol")); err != nil {
		testenv.Missing(t, "vscode-languageserver-protocol", "scripts/setup installs it")
	}
	program, err := filepath.Abs(filepath.Join("..", "..", "bin", "sbx-devc"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		testenv.Missing(t, "bin/sbx-devc", "scripts/build makes it")
	}
	cmd := exec.CommandContext(t.Context(), node, filepath.Join(editors, "vscode", "test", "session.js"), program, modules)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.HasSuffix(out, []byte("\nok\n")) {
		t.Fatalf("%v\n%s", err, out)
	}
	golden.Open(t, filepath.Join(editors, "vscode", "test", "session.txtar")).Compare(t, "session", string(out))
}

// Both problem matchers read the text that validate prints: file, line, column, severity,
// message, rule.
func TestProblemMatchers(t *testing.T) {
	var github struct {
		ProblemMatcher []struct{ Pattern []struct{ Regexp string } }
	}
	var extension struct {
		Contributes struct {
			ProblemMatchers []struct{ Pattern struct{ Regexp string } }
		}
	}
	for name, into := range map[string]any{"problem-matcher.json": &github, "vscode/package.json": &extension} {
		src, err := os.ReadFile(filepath.Join(editors, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(src, into); err != nil {
			t.Fatal(name, err)
		}
	}
	var out bytes.Buffer
	a := &app{stdin: strings.NewReader(`{"image": "debian:13", "privileged": true}`), stdout: &out, stderr: &out,
		getenv: func(string) string { return "" }}
	if code := a.main(t.Context(), []string{"validate", "-"}); code != exitFindings {
		t.Fatalf("exit %d: %s", code, &out)
	}
	for _, text := range []string{github.ProblemMatcher[0].Pattern[0].Regexp, extension.Contributes.ProblemMatchers[0].Pattern.Regexp} {
		found := regexp.MustCompile("(?m)"+text).FindAllStringSubmatch(out.String(), -1)
		if len(found) < 2 || found[len(found)-1][1] != "-" || found[len(found)-1][2] != "1" || found[len(found)-1][6] != "SBX402" {
			t.Errorf("%s reads %q of\n%s", text, found, &out)
		}
	}
}

// The hook of pre-commit runs for each file that its description promises, and for no other.
func TestPreCommitHookRunsForItsFiles(t *testing.T) {
	src, err := os.ReadFile(filepath.Join("..", "..", ".pre-commit-hooks.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct{ ID, Files string }
	if err := yaml.Unmarshal(src, &hooks); err != nil {
		t.Fatal(err)
	}
	files := regexp.MustCompile(hooks[0].Files)
	for _, name := range []string{".devcontainer/devcontainer.json", ".devcontainer.json", "a/.devcontainer/b/devcontainer.json",
		".devcontainer/Dockerfile", ".devcontainer/post-create.sh", ".devcontainer/sandbox.jsonc", "Dockerfile", "api/Dockerfile.dev",
		"dev.Dockerfile", "docker-compose.yml", "a/compose.override.yaml", "src/go/devcontainer-feature.json", "src/go/install.sh",
		"src/web/devcontainer-template.json", "src/web/.devcontainer/docker-compose.yml", "Containerfile"} {
		if !files.MatchString(name) {
			t.Errorf("not for %s", name)
		}
	}
	for _, name := range []string{"main.go", "README.md", "src/main/install.sh.md", "docs/dockerfile.md.txt", "decompose.go", "package.json"} {
		if files.MatchString(name) {
			t.Errorf("also for %s", name)
		}
	}
}
