//go:build unix

package recipe

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/org/claude-sandbox/settings"
)

// project writes the files of a project.
func project(t *testing.T, files string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(files)).Files {
		name, executable := strings.CutSuffix(f.Name, "*")
		mode := fs.FileMode(0o644)
		if executable {
			mode = 0o755
		}
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRead(t *testing.T) {
	const config = "-- .devcontainer/devcontainer.json --\n"
	for _, c := range []struct {
		what, files string
		unusable    string
		content     string // names of Content
	}{
		{"none", "-- main.go --\n", "", ""},
		{"the folders that another run made", "-- .devcontainer.json/x --\n-- .devcontainer/devcontainer.json/x --\n", "", ""},
		{"an image", config + `{"image": "node:22", /* why not */}`, "", ".devcontainer/devcontainer.json"},
		{"a Dockerfile that copies nothing", config + `{"build": {"dockerfile": "Dockerfile"}}
-- .devcontainer/Dockerfile --
FROM scratch
-- .devcontainer/other --
`, "", ".devcontainer/Dockerfile .devcontainer/devcontainer.json"},
		{"the older form", "-- .devcontainer.json --\n" + `{"dockerFile": "Dockerfile"}
-- Dockerfile --
FROM scratch
`, "", ".devcontainer.json Dockerfile"},
		{"the folder of a Dockerfile elsewhere", config + `{"build": {"dockerfile": "../docker/Dockerfile"}}
-- docker/Dockerfile --
FROM scratch
COPY tool /tool
-- docker/tool --
-- .devcontainer/tool --
`, "", ".devcontainer/devcontainer.json docker/Dockerfile docker/tool"},
		{"the older form wins, with its context",
			config + `{"dockerFile": "../docker/Dockerfile", "build": {"dockerfile": "none", "context": ".."}}
-- docker/Dockerfile --
FROM scratch
COPY tool /tool
-- docker/tool --
-- tool --
`, "", ".devcontainer/devcontainer.json docker/Dockerfile docker/tool"},
		{"names by the workspace's folder",
			config + `{"build": {"dockerfile": "${localWorkspaceFolder}/docker/Dockerfile", "context": "${localWorkspaceFolder}"}}
-- docker/Dockerfile --
FROM scratch
COPY tool /tool
-- docker/tool --
-- tool --
`, "", ".devcontainer/devcontainer.json docker/Dockerfile tool"},
		{"the folder of a Dockerfile by the workspace's folder", config + `{"build": {"dockerfile": "${localWorkspaceFolder}/docker/Dockerfile"}}
-- docker/Dockerfile --
FROM scratch
COPY tool /tool
-- docker/tool --
`, "", ".devcontainer/devcontainer.json docker/Dockerfile docker/tool"},
		{"a Dockerfile by another variable", config + `{"build": {"dockerfile": "${localEnv:WHERE}/Dockerfile"}}`,
			"it refers to variables of this machine", ".devcontainer/devcontainer.json"},
		{"files of the project", config + `{"build": {"dockerfile": "Dockerfile", "context": "..", "target": "x", "args": {"A": "b"}}}
-- .devcontainer/Dockerfile --
FROM debian AS x
COPY requirements.txt tools/setup* /tmp/
COPY --from=x /a /b
ADD https://example.com/x /y
-- requirements.txt --
-- tools/setup.sh* --
-- tools/.git/objects/x --
-- lock --
-- src/main.py --
`, "", ".devcontainer/Dockerfile .devcontainer/devcontainer.json requirements.txt tools/setup.sh// (executable)"},
		{"all that a mount may show", config + `{"build": {"dockerfile": "Dockerfile"}}
-- .devcontainer/Dockerfile --
FROM debian
RUN --mount=type=bind,target=/x true
-- .devcontainer/a --
`, "", ".devcontainer/Dockerfile .devcontainer/a .devcontainer/devcontainer.json"},
		{"all of a folder but what is ignored", config + `{"build": {"dockerfile": "Dockerfile"}}
-- .devcontainer/Dockerfile --
FROM debian
COPY . /x
-- .devcontainer/.dockerignore --
secret
-- .devcontainer/a --
-- .devcontainer/secret/b --
`, "", ".devcontainer/.dockerignore .devcontainer/Dockerfile .devcontainer/a .devcontainer/devcontainer.json"},
		{"a Feature without its registry", config + `{"image": "a", "features": {"x": {}}}`, "its Feature x does not come from a registry",
			".devcontainer/devcontainer.json"},
		{"a Feature of a web address", config + `{"image": "a", "features": {"https://x.example/a.tgz": {}}}`, "does not come from a registry",
			".devcontainer/devcontainer.json"},
		{"a Feature of a repository's releases", config + `{"image": "a", "features": {"owner/repository/x": {}}}`,
			"does not come from a registry", ".devcontainer/devcontainer.json"},
		{"Features of a registry, and their lock", config + `{"image": "a", "features": {"ghcr.io/x/y:1": {}}}
-- .devcontainer/devcontainer-lock.json --
{}
`, "", ".devcontainer/devcontainer-lock.json .devcontainer/devcontainer.json"},
		{"a local Feature", config + `{"image": "a", "features": {"./x": {"o": "v"}}}
-- .devcontainer/x/devcontainer-feature.json --
{"id": "x"}
-- .devcontainer/x/install.sh* --
-- .devcontainer/x/lib/a --
`, "",
			".devcontainer/devcontainer.json .devcontainer/x/devcontainer-feature.json .devcontainer/x/install.sh// " +
				"(executable) .devcontainer/x/lib/a"},
		{"what a run brings along",
			config + `{"image": "a", "features": {"./firewall": {}, "ghcr.io/anthropics/devcontainer-features/claude-code:1": {}}}
-- .devcontainer/firewall/devcontainer-feature.json --
{"id": "firewall", "entrypoint": "/usr/local/share/sbx/entrypoint.sh"}
-- .devcontainer/firewall/sbx-init-linux-amd64.gz --
`, "", ".devcontainer/devcontainer.json"},
		{"a Feature outside", config + `{"image": "a", "features": {"../../x": {}}}`, "lies outside of the project",
			".devcontainer/devcontainer.json"},
		{"a Feature that is not there", config + `{"image": "a", "features": {"./x": {}}}`, "its Feature ./x cannot be read",
			".devcontainer/devcontainer.json"},
		{"an option from this machine", config + `{"image": "a", "features": {"ghcr.io/x/y:1": {"o": "${localEnv:HOME}"}}}`,
			"variables of this machine", ".devcontainer/devcontainer.json"},
		{"no Features", config + `{"image": "a", "features": {}}`, "", ".devcontainer/devcontainer.json"},
		{"a Compose file that is not there", config + `{"dockerComposeFile": "c.yml", "service": "x"}`, "Compose files cannot be read",
			".devcontainer/devcontainer.json"},
		{"the image of a Compose service", config + `{"dockerComposeFile": "../c.yml", "service": "x"}
-- c.yml --
services: {x: {image: "a:${TAG}"}, db: {image: postgres}}
-- .env --
TAG=1
`, "", ".devcontainer/devcontainer.json .env c.yml"},
		{"the Dockerfile of a Compose service", config + `{"dockerComposeFile": ["../c.yml", "more.yml"], "service": "x"}
-- c.yml --
services: {x: {build: {context: sub, dockerfile: D, args: [A=1]}}, db: {image: postgres}}
-- .devcontainer/more.yml --
services: {x: {build: {target: y}}}
-- .devcontainer/sandbox.jsonc --
{}
-- sub/D --
FROM debian AS y
COPY a /a
-- sub/a --
`, "", ".devcontainer/devcontainer.json .devcontainer/more.yml c.yml sub/D sub/a"},
		{"a Compose service that is not there", config + `{"dockerComposeFile": "c.yml", "service": "x"}
-- .devcontainer/c.yml --
services: {y: {image: a}}
`, "do not have its service", ".devcontainer/devcontainer.json"},
		{"a Compose file of this machine", config + `{"dockerComposeFile": "c.yml", "service": "x"}
-- .devcontainer/c.yml --
services: {x: {image: "a:${TAG}"}}
`, "variables of this machine", ".devcontainer/c.yml .devcontainer/devcontainer.json"},
		{"a Compose build outside", config + `{"dockerComposeFile": "c.yml", "service": "x"}
-- .devcontainer/c.yml --
services: {x: {build: ../..}}
`, "outside of the project", ".devcontainer/c.yml .devcontainer/devcontainer.json"},
		{"a Compose build with options", config + `{"dockerComposeFile": "c.yml", "service": "x"}
-- .devcontainer/c.yml --
services: {x: {build: {context: ., dockerfile_inline: "FROM a"}}}
`, "has the option dockerfile_inline", ".devcontainer/c.yml .devcontainer/devcontainer.json"},
		{"variables", config + `{"image": "a:${localEnv:X}"}`, "variables of this machine", ".devcontainer/devcontainer.json"},
		{"nothing", config + `{}`, "neither an image", ".devcontainer/devcontainer.json"},
		{"half a text", config + `{"image": `, "well formed", ".devcontainer/devcontainer.json"},
		{"a Dockerfile outside", config + `{"build": {"dockerfile": "../../Dockerfile"}}`, "outside of the project",
			".devcontainer/devcontainer.json"},
		{"a context outside", config + `{"build": {"dockerfile": "Dockerfile", "context": "../.."}}`, "outside of the project",
			".devcontainer/devcontainer.json"},
		{"no Dockerfile", config + `{"build": {"dockerfile": "Dockerfile"}}`, "no such file", ".devcontainer/devcontainer.json"},
	} {
		r := Read(project(t, c.files))
		if c.content == "" {
			if r != nil {
				t.Errorf("%s: %+v", c.what, r)
			}
			continue
		}
		if got := strings.Join(slices.Sorted(maps.Keys(r.Content)), " "); got != c.content {
			t.Errorf("%s: read %s, want %s", c.what, got, c.content)
		}
		if (r.Unusable == "") != (c.unusable == "") || !strings.Contains(r.Unusable, c.unusable) {
			t.Errorf("%s: unusable because %q, want %q", c.what, r.Unusable, c.unusable)
		}
	}
}

// Attack: a link, a pipe or very much in the build context of a project leads to
// files of the user's, waits for ever, or is more than anybody could read.
func TestAttackTheBuildContext(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(secret, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	const files = `-- .devcontainer/devcontainer.json --
{"build": {"dockerfile": "Dockerfile"}}
-- .devcontainer/Dockerfile --
FROM debian
COPY . /x
-- .devcontainer/a --
`
	for what, attack := range map[string]func(folder string) error{
		"a link to a file": func(f string) error { return os.Symlink(secret, filepath.Join(f, "key")) },
		"a link to a folder": func(f string) error {
			return os.Symlink(filepath.Dir(secret), filepath.Join(f, "keys"))
		},
		"a link in the place of the Dockerfile": func(f string) error {
			_ = os.Remove(filepath.Join(f, "Dockerfile"))
			return os.Symlink(secret, filepath.Join(f, "Dockerfile"))
		},
		"a pipe": func(f string) error { return syscall.Mkfifo(filepath.Join(f, "pipe"), 0o644) },
		"a pipe in the place of the Dockerfile": func(f string) error {
			_ = os.Remove(filepath.Join(f, "Dockerfile"))
			return syscall.Mkfifo(filepath.Join(f, "Dockerfile"), 0o644)
		},
		"a large file": func(f string) error { return os.WriteFile(filepath.Join(f, "large"), make([]byte, maxBytes+1), 0o600) },
		"many files": func(f string) (err error) {
			for i := range maxFiles {
				err = os.WriteFile(filepath.Join(f, strings.Repeat("x", 1+i%200)+string(rune('a'+i/200))), nil, 0o600)
			}
			return err
		},
	} {
		dir := project(t, files)
		if err := attack(filepath.Join(dir, ".devcontainer")); err != nil {
			t.Fatal(err)
		}
		r := Read(dir)
		if r.Unusable == "" {
			t.Errorf("%s: taken", what)
			continue
		}
		for name, text := range r.Content {
			if strings.Contains(string(text), "canary") {
				t.Errorf("%s: %s holds the secret", what, name)
			}
		}
	}
}

// The files that were read are built, whatever the project's files are by then.
func TestWhatWasReadIsWhatIsBuilt(t *testing.T) {
	dir := project(t, `-- .devcontainer/devcontainer.json --
{"build": {"dockerfile": "Dockerfile"}}
-- .devcontainer/Dockerfile --
FROM debian
COPY setup.sh /x
-- .devcontainer/setup.sh* --
good
`)
	r := Read(dir)
	for _, name := range []string{"Dockerfile", "setup.sh"} {
		if err := os.WriteFile(filepath.Join(dir, ".devcontainer", name), []byte("evil"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := r.In(func(folder string) error {
		for name, want := range map[string]string{DockerfileName: "FROM debian\nCOPY setup.sh /x\n", "setup.sh": "good\n"} {
			if text, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(text) != want {
				t.Errorf("%s holds %q: %v", name, text, err)
			}
		}
		info, err := os.Stat(filepath.Join(folder, "setup.sh"))
		if err == nil && info.Mode().Perm()&0o111 == 0 {
			t.Error("it cannot be executed")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Attack: a file of the image has the name by which something else is remembered, and
// the other one changes later.
func TestAttackAnAcceptedNameThatTwoFilesHave(t *testing.T) {
	const config = `-- .devcontainer/devcontainer.json --
{"build": {"dockerfile": "Dockerfile", "context": ".."}}
-- .devcontainer/sandbox.jsonc --
{"network": {"allow": ["@hosts.txt"]}}
-- .devcontainer/hosts.txt --
docs.example.com
-- .devcontainer/Dockerfile --
FROM debian
COPY . /x
-- .dockerignore --
.devcontainer
`
	for what, c := range map[string]struct{ files, changed string }{
		"of the settings":           {"-- sandbox.jsonc --\n{}\n", ".devcontainer/sandbox.jsonc"},
		"of the settings' list":     {"-- @hosts.txt --\nx\n", ".devcontainer/hosts.txt"},
		"of a file to be executed":  {"-- run.sh* --\ngood\n-- run.sh (executable) --\n", "run.sh"},
		"of one in a folder":        {"-- a/run.sh* --\ngood\n-- a/run.sh (executable) --\n", "a/run.sh"},
		"with a blank, of a folder": {"-- run.sh* --\ngood\n-- run.sh.d/ (executable) --\n", "run.sh"},
	} {
		dir := project(t, config+c.files)
		digest := func() string {
			file, err := settings.ReadFile(filepath.Join(dir, ".devcontainer", "sandbox.jsonc"))
			r := Read(dir)
			if err != nil || r.Unusable != "" {
				t.Fatal(what, err, r.Unusable)
			}
			return Accepted(file, r, nil).Digest()
		}
		accepted := digest()
		name := filepath.Join(dir, c.changed)
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, append(text, "\n  \n"...), 0o600)
		}
		if err == nil && strings.Contains(c.files, "*") {
			err = os.Chmod(name, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		if digest() == accepted {
			t.Errorf("a file with the name %s: %s has changed, and is still accepted", what, c.changed)
		}
	}
}

// Attack: a Compose file, or one that it includes or extends, has the name of a file of
// ours, and the image changes after it was accepted.
func TestAttackAComposeFileNamedLikeOneOfOurs(t *testing.T) {
	const with, service = `-- .devcontainer/devcontainer.json --
{"dockerComposeFile": "`, "services: {x: {image: good}}\n"
	for _, name := range []string{"devcontainer-feature.json", "sandbox.jsonc", "sandbox.lock", "devcontainer-lock.json"} {
		for what, files := range map[string]string{
			"the Compose file": with + name + `", "service": "x"}
-- .devcontainer/` + name + " --\n" + service,
			"one of a subfolder": with + "sub/" + name + `", "service": "x"}
-- .devcontainer/sub/` + name + " --\n" + service,
			"an included one": with + `c.yml", "service": "x"}
-- .devcontainer/c.yml --
include: [` + name + `]
-- .devcontainer/` + name + " --\n" + service,
			"an extended one": with + `c.yml", "service": "x"}
-- .devcontainer/c.yml --
services: {x: {extends: {file: ` + name + `, service: x}}}
-- .devcontainer/` + name + " --\n" + service,
		} {
			dir := project(t, files)
			read := func(image string) string {
				r := Read(dir)
				if r.Unusable != "" || r.Image != image {
					t.Fatalf("%s %s: the image is %q, %s", what, name, r.Image, r.Unusable)
				}
				return Accepted(nil, r, nil).Digest()
			}
			accepted := read("good")
			file := filepath.Join(dir, ".devcontainer", name)
			if what == "one of a subfolder" {
				file = filepath.Join(dir, ".devcontainer", "sub", name)
			}
			if err := os.WriteFile(file, []byte("services: {x: {image: evil}}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if read("evil") == accepted {
				t.Errorf("%s %s has another image, and is still accepted", what, name)
			}
		}
	}
}

// Attack: the context brings a file that would take the place of the Dockerfile that
// was shown, or of what the builder is told to leave out.
func TestAttackTheContextReplacesTheDockerfile(t *testing.T) {
	r := Read(project(t, `-- .devcontainer/devcontainer.json --
{"build": {"dockerfile": "Dockerfile"}}
-- .devcontainer/Dockerfile --
FROM debian
COPY . /x
-- .devcontainer/Dockerfile.sbx-devc --
FROM evil
-- .devcontainer/Dockerfile.sbx-devc.dockerignore --
*
`))
	if r.Unusable != "" {
		return
	}
	err := r.In(func(folder string) error {
		text, err := os.ReadFile(filepath.Join(folder, DockerfileName))
		if !strings.Contains(string(text), "FROM debian") {
			t.Errorf("what is built is %q", text)
		}
		if _, err := os.Stat(filepath.Join(folder, DockerfileName+".dockerignore")); err == nil {
			t.Error("the builder heeds another .dockerignore")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
