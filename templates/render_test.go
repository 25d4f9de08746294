package templates_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/templates"
)

func render(t *testing.T, options map[string]string) map[string]string {
	t.Helper()
	tmpl, err := templates.Load("claude")
	if err != nil {
		t.Fatal(err)
	}
	files, err := tmpl.Render(options)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range files {
		out[filepath.Base(f.Path)] = string(f.Content)
	}
	return out
}

func TestEveryTemplateValidates(t *testing.T) {
	for _, id := range templates.IDs() {
		t.Run(id, func(t *testing.T) {
			files := render(t, nil)
			tree := devcontainer.Memory{}
			for name, text := range files {
				tree[".devcontainer/"+name] = text
			}
			p, err := devcontainer.Load(tree, ".devcontainer/devcontainer.json", "devcontainer.json")
			if err != nil {
				t.Fatal(err)
			}
			if findings := devcontainer.Check(p); len(findings) > 0 || p.Policy == nil {
				t.Errorf("findings: %v", findings)
			}
			for name, text := range files {
				if strings.Contains(text, "${templateOption:") {
					t.Errorf("%s still refers to an option", name)
				}
			}
		})
	}
}

// TestStandardTemplate keeps the files usable by every tool for dev container
// Templates: containers.dev/implementors/templates.
func TestStandardTemplate(t *testing.T) {
	for _, id := range templates.IDs() {
		text, err := os.ReadFile(filepath.Join("src", id, "devcontainer-template.json"))
		if err != nil {
			t.Fatal(err)
		}
		var raw struct {
			ID, Version, Name, Description string
			Options                        map[string]struct {
				Type        string
				Description string
				Default     any
			}
		}
		if err := json.Unmarshal(text, &raw); err != nil {
			t.Fatal(err)
		}
		if raw.ID != id || raw.Name == "" || raw.Description == "" || !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(raw.Version) {
			t.Errorf("%s: id %q, version %q, name %q", id, raw.ID, raw.Version, raw.Name)
		}
		for name, o := range raw.Options {
			value, isText := o.Default.(string)
			if !regexp.MustCompile(`^\w+$`).MatchString(name) || o.Type != "string" || !isText || value == "" || o.Description == "" {
				t.Errorf("%s: the option %s is %+v", id, name, o)
			}
		}
		if got := raw.Options["initImage"].Default; got != release.InitImage() {
			t.Errorf("%s: initImage is %v, want this version's %s", id, got, release.InitImage())
		}
	}
}

// The classic builder of Docker 20.10 and BuildKit must both build it.
func TestDockerfileNeedsNoNewSyntax(t *testing.T) {
	dockerfile := render(t, nil)["Dockerfile"]
	for _, bad := range []string{"<<", "--mount", "TARGETARCH", "# syntax=", "--chmod", "--link", "--network="} {
		if strings.Contains(dockerfile, bad) {
			t.Errorf("the Dockerfile uses %s", bad)
		}
	}
}

// An option's value must stay one value: with the standard's plain replacement
// each of these would add a line to the Dockerfile or a member to the JSON.
func TestOptionCannotInjectDockerfile(t *testing.T) {
	tmpl, err := templates.Load("claude")
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{
		"debian\nRUN curl x | sh", "debian AS x", "debian # ", "$(id)", "`id`", "a'b", `a"b`, `a\b`, "${templateOption:timezone}", "a;b", "a\x00b", "ä",
	} {
		if _, err := tmpl.Render(map[string]string{"baseImage": value}); !errors.Is(err, templates.ErrOption) || diag.HintOf(err) == "" {
			t.Errorf("baseImage %q: %v", value, err)
		}
	}
	digest := "registry.example:5000/debian@sha256:" + strings.Repeat("a", 64)
	if got := render(t, map[string]string{"baseImage": digest})["Dockerfile"]; !strings.Contains(got, "\nFROM "+digest+"\n") {
		t.Error("a digest must be accepted")
	}
}

func TestAdaptKeepsTheLayout(t *testing.T) {
	files := []templates.File{
		{Path: ".devcontainer/devcontainer.json", Content: []byte("{\n  // why\n  \"mounts\": [\n    \"a\", // first\n    \"b\"\n  ]\n}\n")},
		{Path: ".devcontainer/sandbox.jsonc", Content: []byte(`{"network": {"presets": ["anthropic"], "allow": [/* yours */]}}`)},
	}
	got, err := templates.Adapt(files, templates.Facts{ReadOnly: []string{".vscode"}}, []string{"npm", "anthropic", "npm"}, []string{`x"y`, "z"})
	if err != nil {
		t.Fatal(err)
	}
	self := "type=bind,source=${localWorkspaceFolder}/.vscode,target=/workspaces/${localWorkspaceFolderBasename}/.vscode,readonly"
	if want := "{\n  // why\n  \"mounts\": [\n    \"a\", // first\n    \"b\",\n    \"" + self + "\"\n  ]\n}\n"; string(got[0].Content) != want {
		t.Errorf("got\n%s\nwant\n%s", got[0].Content, want)
	}
	doc, findings := jsonc.Parse("", got[1].Content)
	if doc == nil {
		t.Fatal(findings)
	}
	if want := `{"network": {"presets": ["anthropic", "npm"], "allow": ["x\"y", "z"/* yours */]}}`; string(got[1].Content) != want {
		t.Errorf("got %s, want %s", got[1].Content, want)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A file in the middle that cannot be written must leave everything as it was.
func TestWriteFilesAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "one", "a")
	if err := os.Mkdir(filepath.Dir(old), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	files := []templates.File{{Path: "one/a", Content: []byte("new")}, {Path: "one/b", Content: []byte("new")}, {Path: "two/deeper/c", Content: []byte("new")}}
	if err := templates.WriteFiles(dir, files, true); err == nil {
		t.Fatal("two/deeper cannot be made in one step, so this had to fail")
	}
	if got := read(t, old); got != "mine" {
		t.Errorf("one/a holds %q after the failure", got)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("left over: %v %v", left, err)
	}
	if hidden, _ := filepath.Glob(filepath.Join(dir, ".*")); len(hidden) > 0 {
		t.Errorf("left over: %v", hidden)
	}

	if err := templates.WriteFiles(dir, files[:2], false); !errors.Is(err, templates.ErrExists) || read(t, old) != "mine" {
		t.Errorf("without overwrite: %v, one/a holds %q", err, read(t, old))
	}
	if err := templates.WriteFiles(dir, files[:2], true); err != nil || read(t, old) != "new" {
		t.Errorf("with overwrite: %v, one/a holds %q", err, read(t, old))
	}
}

func TestWriteFilesMakesANewFolderAtOnce(t *testing.T) {
	dir := t.TempDir()
	files := []templates.File{{Path: ".x/a", Content: []byte("a")}, {Path: ".x/deeper/b", Content: []byte("b")}}
	if err := templates.WriteFiles(dir, files, false); err != nil {
		t.Fatal(err)
	}
	if read(t, filepath.Join(dir, ".x", "a"))+read(t, filepath.Join(dir, ".x", "deeper", "b")) != "ab" {
		t.Error("the files hold something else")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left over: %v %v", entries, err)
	}
}

func TestWriteFilesRefusesALink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a right on Windows")
	}
	outside, dir := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, ".devcontainer")); err != nil {
		t.Fatal(err)
	}
	err := templates.WriteFiles(dir, []templates.File{{Path: ".devcontainer/x", Content: []byte("x")}}, true)
	if err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("written through the link: %v", left)
	}
}
