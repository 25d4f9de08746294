//go:build unix

package lint_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/diag"
)

// padded is a text of more than the limit whose rest is comments.
func padded(text string) string { return text + strings.Repeat("# padding\n", 120_000) }

// The attack: hide a privileged service in a file that nothing reads. A file that is
// named and not looked at is a finding at the default of --fail-on.
func TestUnreadIsNotClean(t *testing.T) {
	const compose = `{"dockerComposeFile": "c.yaml", "service": "a", "workspaceFolder": "/w"}`
	const service = "services:\n  a:\n    image: debian:13@sha256:0\n"
	for _, tt := range []struct {
		name, config string
		files        devcontainer.Memory
		want         string // rule and a part of the message
	}{
		{"Compose file over the limit", compose, devcontainer.Memory{"c.yaml": padded(service + "    privileged: true\n")},
			"SBX109 c.yaml is not checked: it is larger than"},
		{"Dockerfile over the limit", `{"build": {"dockerfile": "Dockerfile"}}`,
			devcontainer.Memory{"Dockerfile": padded("FROM " + pinned + "\nUSER dev\n")}, "SBX109 Dockerfile is not checked: it is larger than"},
		{"Feature over the limit", `{"image": "a@sha256:0", "features": {"./f": {}}}`,
			devcontainer.Memory{"f/devcontainer-feature.json": `{"id": "f", "version": "1.0.0", "name": "F", "privileged": true}` +
				strings.Repeat(" ", 1<<20), "f/install.sh": ""}, "SBX109 the Feature ./f is not checked"},
		{"Feature that is no JSON", `{"image": "a@sha256:0", "features": {"./f": {}}}`,
			devcontainer.Memory{"f/devcontainer-feature.json": `{"privileged": true`, "f/install.sh": ""}, "SBX109 the Feature ./f is not checked"},
		{"UTF-16 Dockerfile", `{"build": {"dockerfile": "Dockerfile"}}`, devcontainer.Memory{"Dockerfile": "\xff\xfeF\x00R\x00"},
			"SBX109 the file is not UTF-8 text"},
		{"missing include", compose, devcontainer.Memory{"c.yaml": "include: [more.yaml]\n" + service}, "SBX311 there is no file more.yaml"},
		{"missing extends", compose, devcontainer.Memory{"c.yaml": "services:\n  a:\n    extends: {file: base.yaml, service: a}\n"},
			"SBX311 there is no file base.yaml"},
		{"missing env_file", compose, devcontainer.Memory{"c.yaml": service + "    env_file: a.env\n"}, "SBX311 there is no file a.env"},
		{"missing env_file in a list", compose, devcontainer.Memory{"c.yaml": service + "    env_file: [{path: a.env}]\n"},
			"SBX311 there is no file a.env"},
		{"env_file that may be missing", compose,
			devcontainer.Memory{"c.yaml": service + "    env_file: [{path: a.env, required: false}]\n"}, ""},
		{"env_file that is there", compose, devcontainer.Memory{"c.yaml": service + "    env_file: a.env\n", "a.env": "A=b\n"}, ""},
		{"circle of include", compose, devcontainer.Memory{"c.yaml": "include: [d.yaml]\n" + service, "d.yaml": "include: [c.yaml]\n"},
			"SBX316 c.yaml includes itself"},
		{"circle of extends", compose,
			devcontainer.Memory{"c.yaml": "services:\n  a: {image: 'a@sha256:0', extends: b}\n  b: {image: 'a@sha256:0', extends: a}\n"},
			"SBX316 the service a extends itself"},
		{"included file over the limit", compose,
			devcontainer.Memory{"c.yaml": "include: [d.yaml]\n" + service, "d.yaml": padded("services: {b: {image: x, privileged: true}}\n")},
			"SBX316 the file is larger than"},
		{"include by a variable", compose, devcontainer.Memory{"c.yaml": "include: ['${X}/d.yaml']\n" + service},
			"SBX109 warning: ${X}/d.yaml depends on a variable"},
		{"include from outside", compose, devcontainer.Memory{"c.yaml": "include: [/etc/d.yaml]\n" + service},
			"SBX109 warning: /etc/d.yaml lies outside the project"},
		{"include above the project", compose, devcontainer.Memory{"c.yaml": "include: [../../d.yaml]\n" + service},
			"SBX109 warning: ../../d.yaml lies outside the project"},
		{"Compose file from outside", `{"dockerComposeFile": "../../c.yaml", "service": "a", "workspaceFolder": "/w"}`, nil,
			"SBX109 warning: ../../c.yaml is not checked"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := devcontainer.Memory{}
			for name, text := range tt.files {
				tree[".devcontainer/"+name] = text
			}
			wantOne(t, lint.Check(load(t, tree, tt.config)), tt.want)
		})
	}
}

// wantOne compares the findings at a warning or worse about files with one.
func wantOne(t *testing.T, findings []diag.Finding, want string) {
	t.Helper()
	var got []string
	for _, f := range findings {
		if slices.Contains([]string{"SBX109", "SBX311", "SBX316"}, f.Rule) && f.Severity != diag.SeverityNote {
			severity := ""
			if f.Severity != diag.SeverityError {
				severity = string(f.Severity) + ": "
			}
			got = append(got, f.Rule+" "+severity+f.Message)
		}
	}
	if want == "" && len(got) > 0 || want != "" && !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, want) }) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// On a real disk: what stands under the name is no file that can be read.
func TestUnreadableFilesAreNotClean(t *testing.T) {
	for _, tt := range []struct {
		name, config, file, want string
		make                     func(path string) error
	}{
		{"pipe as Dockerfile", `{"build": {"dockerfile": "Dockerfile"}}`, "Dockerfile", "SBX109 Dockerfile is not checked: it is no regular file",
			func(p string) error { return syscall.Mkfifo(p, 0o644) }},
		{"link to itself as Compose file", `{"dockerComposeFile": "c.yaml", "service": "a", "workspaceFolder": "/w"}`, "c.yaml",
			"SBX109 c.yaml is not checked", func(p string) error { return os.Symlink("c.yaml", p) }},
		{"link out of the project as Dockerfile", `{"build": {"dockerfile": "Dockerfile"}}`, "Dockerfile", "SBX109 Dockerfile is not checked",
			func(p string) error { return os.Symlink("/etc/passwd", p) }},
		{"folder as Dockerfile", `{"build": {"dockerfile": "Dockerfile"}}`, "Dockerfile", "SBX109 Dockerfile is not checked: it is a folder",
			func(p string) error { return os.Mkdir(p, 0o755) }},
		{"pipe as sandbox.jsonc", `{"image": "a@sha256:0"}`, "sandbox.jsonc", "SBX109 sandbox.jsonc is not checked",
			func(p string) error { return syscall.Mkfifo(p, 0o644) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, ".devcontainer", "devcontainer.json")
			if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(tt.config), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := tt.make(filepath.Join(filepath.Dir(file), tt.file)); err != nil {
				t.Fatal(err)
			}
			err := devcontainer.Open(file, func(p *devcontainer.Project) error {
				wantOne(t, lint.Check(p), tt.want)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// forbidden is a Tree in which one file may not be read; root may read any.
type forbidden struct {
	devcontainer.Memory
	name string
}

func (f forbidden) Read(name string) ([]byte, error) {
	if name == f.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return f.Memory.Read(name)
}

func TestForbiddenFilesAreNotClean(t *testing.T) {
	tree := devcontainer.Memory{configName: `{"build": {"dockerfile": "Dockerfile"}}`, ".devcontainer/Dockerfile": "FROM a\n",
		".devcontainer/sandbox.jsonc": "{}"}
	for _, name := range []string{"Dockerfile", "sandbox.jsonc"} {
		p, err := devcontainer.Load(forbidden{tree, ".devcontainer/" + name}, configName, configName)
		if err != nil {
			t.Fatal(err)
		}
		wantOne(t, lint.Check(p), "SBX109 "+name+" is not checked: permission denied")
	}
}

// A link next to the configuration may lead to any place of the repository, and to none outside.
func TestLinksBesideTheConfiguration(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "Dockerfile")
	for target, want := range map[string]string{"../docker/Dockerfile": "SBX703", "Dockerfile.real": "SBX703",
		outside: "SBX109", "none": "SBX109"} {
		dir := t.TempDir()
		for name, text := range map[string]string{filepath.Join(dir, ".git", "HEAD"): "", outside: "FROM debian:13\nUSER devel\n",
			filepath.Join(dir, "docker", "Dockerfile"):               "FROM debian:13\nUSER devel\n",
			filepath.Join(dir, ".devcontainer", "Dockerfile.real"):   "FROM debian:13\nUSER devel\n",
			filepath.Join(dir, ".devcontainer", "devcontainer.json"): `{"build": {"dockerfile": "Dockerfile"}}`} {
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(target, filepath.Join(dir, ".devcontainer", "Dockerfile")); err != nil {
			t.Fatal(err)
		}
		var all lint.Files
		if err := all.Open(t.Context(), []string{filepath.Join(dir, ".devcontainer", "devcontainer.json")}); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(all.Findings, func(f diag.Finding) bool { return f.Rule == want }) {
			t.Errorf("a link to %s: no %s in %v", target, want, all.Findings)
		}
	}
}
