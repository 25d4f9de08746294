package templates_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/templates"
)

func render(t *testing.T, id string, options map[string]string) []templates.File {
	t.Helper()
	tmpl, err := templates.Load(id)
	if err != nil {
		t.Fatal(err)
	}
	files, err := tmpl.Render(options)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// text returns the rendered file of that base name.
func text(t *testing.T, files []templates.File, name string) string {
	t.Helper()
	for _, f := range files {
		if filepath.Base(f.Path) == name {
			return string(f.Content)
		}
	}
	t.Fatalf("no %s was rendered", name)
	return ""
}

// Whatever two options say together, validate has nothing but advice: a digest
// is for `lock` to add.
func TestEveryCombinationValidates(t *testing.T) {
	for _, id := range templates.IDs() {
		t.Run(id, func(t *testing.T) {
			tmpl, err := templates.Load(id)
			if err != nil {
				t.Fatal(err)
			}
			rows := combinations(tmpl)
			if len(rows) < 8 {
				t.Fatalf("only %d combinations", len(rows))
			}
			for _, options := range rows {
				files, err := tmpl.Render(options)
				if err != nil {
					t.Fatalf("%v: %v", options, err)
				}
				if _, findings, err := templates.Check(files, templates.Facts{}); err != nil || diag.Worst(findings, diag.SeverityWarning) > 0 {
					t.Errorf("%v: %v %v", options, err, findings)
				}
				for _, f := range files {
					if strings.Contains(string(f.Content), "${templateOption:") {
						t.Errorf("%v: %s still refers to an option", options, f.Path)
					}
				}
			}
		})
	}
}

func TestCombinationsMeetInPairs(t *testing.T) {
	for _, id := range templates.IDs() {
		tmpl, err := templates.Load(id)
		if err != nil {
			t.Fatal(err)
		}
		rows := combinations(tmpl)
		met := func(a, va, b, vb string) bool {
			return slices.ContainsFunc(rows, func(row map[string]string) bool { return row[a] == va && row[b] == vb })
		}
		for a, oa := range tmpl.Options {
			for b, ob := range tmpl.Options {
				for _, va := range append(oa.Enum, oa.Proposals...) {
					for _, vb := range append(ob.Enum, ob.Proposals...) {
						if a != b && !met(a, va, b, vb) {
							t.Errorf("%s: %s=%q never meets %s=%q", id, a, va, b, vb)
						}
					}
				}
			}
		}
	}
}

// TestStandardTemplate keeps the files usable by every tool for dev container
// Templates: containers.dev/implementors/templates.
func TestStandardTemplate(t *testing.T) {
	for _, id := range templates.IDs() {
		manifest := read(t, filepath.Join("src", id, "devcontainer-template.json"))
		var raw struct {
			ID, Version, Name, Description string
			Options                        map[string]struct {
				Type        string
				Description string
				Default     any
			}
		}
		if err := json.Unmarshal([]byte(manifest), &raw); err != nil {
			t.Fatal(err)
		}
		if raw.ID != id || raw.Name == "" || raw.Description == "" || !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(raw.Version) {
			t.Errorf("%s: id %q, version %q, name %q", id, raw.ID, raw.Version, raw.Name)
		}
		for name, o := range raw.Options {
			_, isText := o.Default.(string)
			if !regexp.MustCompile(`^\w+$`).MatchString(name) || o.Type != "string" || !isText || o.Description == "" {
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
	for _, id := range templates.IDs() {
		dockerfile := text(t, render(t, id, nil), "Dockerfile")
		for _, bad := range []string{"<<", "--mount", "TARGETARCH", "# syntax=", "--chmod", "--link", "--network="} {
			if strings.Contains(dockerfile, bad) {
				t.Errorf("%s: the Dockerfile uses %s", id, bad)
			}
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
		"debian\nRUN curl x | sh", "debian AS x", "debian # ", "$(id)", "`id`", "a'b", `a"b`, `a\b`,
		"${templateOption:timezone}", "a;b", "a\x00b", "ä",
	} {
		if _, err := tmpl.Render(map[string]string{"baseImage": value}); !errors.Is(err, templates.ErrOption) || diag.HintOf(err) == "" {
			t.Errorf("baseImage %q: %v", value, err)
		}
	}
	digest := "registry.example:5000/debian@sha256:" + strings.Repeat("a", 64)
	if got := text(t, render(t, "claude", map[string]string{"baseImage": digest}), "Dockerfile"); !strings.Contains(got,
		"\nFROM "+digest+"\n") {
		t.Error("a digest must be accepted")
	}
}

func TestAdaptKeepsTheLayout(t *testing.T) {
	files := []templates.File{
		{Path: ".devcontainer/devcontainer.json",
			Content: []byte("{\n  // why\n  \"mounts\": [\n    \"a\", // first\n    \"b\"\n  ],\n  \"workspaceMount\": \"x\",\n" +
				"  \"runArgs\": [\"--init\"]\n}\n")},
		{Path: ".devcontainer/sandbox.jsonc", Content: []byte(`{"network": {"presets": ["anthropic"], "allow": [/* yours */]}}`)},
	}
	got, err := templates.Adapt(files, templates.Facts{ReadOnly: []string{".vscode"}},
		settings.Lists{Presets: []string{"npm", "anthropic", "npm"}, Allow: []string{`x"y`, "z"}, Private: []string{"db"}}, "app_default")
	if err != nil {
		t.Fatal(err)
	}
	self := "type=bind,source=${localWorkspaceFolder}/.vscode,target=/workspaces/${localWorkspaceFolderBasename}/.vscode,readonly"
	if want := "{\n  // why\n  \"mounts\": [\n    \"a\", // first\n    \"b\",\n    \"" + self +
		"\"\n  ],\n  \"workspaceMount\": \"x\",\n  \"runArgs\": [\"--init\", \"--network=app_default\"]\n}\n"; string(got[0].Content) != want {
		t.Errorf("got\n%s\nwant\n%s", got[0].Content, want)
	}
	doc, findings := jsonc.Parse("", got[1].Content)
	if doc == nil {
		t.Fatal(findings)
	}
	if want := `{"network": {"presets": ["anthropic", "npm"], "allow": ["x\"y", "z"/* yours */], "private": ["db"]}}`; string(
		got[1].Content) != want {
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
	files := []templates.File{{Path: "one/a", Content: []byte("new")}, {Path: "one/b", Content: []byte("new")},
		{Path: "two/deeper/" + strings.Repeat("c", 300), Content: []byte("new")}}
	if err := templates.WriteFiles(dir, files, true); err == nil {
		t.Fatal("no file system takes a name of 300 bytes, so this had to fail")
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

// TestNoOptionChangesTheStructure gives every option of every template values
// that mean something to JSON, YAML, Dockerfiles and shells. Each is refused, or
// the files have the lines and the tree that they always have.
func TestNoOptionChangesTheStructure(t *testing.T) {
	nasty := []string{
		`"`, `\`, `\"`, "a\nb", "a\r\nRUN id", `a", "x": "y`, `a"], "mode": "host", "private": ["*`, `a"}}`, "a */ // b", "${localEnv:HOME}",
		"${templateOption:timezone}",
		"$HOME", "$(id)", "`id`", "a b", "a;id", "a&&id", "a|id", "a>b", "a # b", "'", "a\x00b", "a\x1b[31m", "{a}", "[a]", "a, b", "*", "!a",
		"~", "é", "\u2028", strings.Repeat("a", 100_000),
	}
	for _, id := range templates.IDs() {
		tmpl, err := templates.Load(id)
		if err != nil {
			t.Fatal(err)
		}
		plain := render(t, id, nil)
		for name := range tmpl.Options {
			for _, value := range nasty {
				options := map[string]string{name: value}
				if name == "claudeVersion" {
					options["claudeIntegrityX64"] = "sha512-x"
				}
				files, err := tmpl.Render(options)
				if errors.Is(err, templates.ErrOption) {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				for i, f := range files {
					if got, want := skeleton(t, f), skeleton(t, plain[i]); got != want {
						t.Errorf("%s: %s=%.40q changes %s from\n%s\nto\n%s", id, name, value, f.Path, want, got)
					}
				}
			}
		}
	}
}

// skeleton is a file without the text of its values.
func skeleton(t *testing.T, f templates.File) string {
	t.Helper()
	var b strings.Builder
	if !strings.HasPrefix(filepath.Ext(f.Path), ".json") {
		for line := range strings.Lines(string(f.Content)) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			word, _, _ = strings.Cut(word, "=")
			fmt.Fprintln(&b, word, len(strings.Fields(line)))
		}
		return b.String()
	}
	doc, findings := jsonc.Parse(f.Path, f.Content)
	if doc == nil || len(findings) > 0 {
		t.Fatalf("%v in\n%s", findings, f.Content)
	}
	doc.Root.Walk(func(n *jsonc.Node) { fmt.Fprintln(&b, n.Pointer, n.Kind) })
	return b.String()
}
