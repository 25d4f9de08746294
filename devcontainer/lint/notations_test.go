package lint_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
)

// A right that opens the host is found in whichever notation it is written: as a
// property, as an option of docker run, in a Compose file, in the metadata of a
// Feature of the repository, in the label with which tools keep metadata.
func TestEveryRightInEveryNotation(t *testing.T) {
	const key = "a1b2c3d4e5f6a7b8c9d0e1f2"
	mount := func(source string) [4]string {
		json := fmt.Sprintf(`"mounts": [{"type": "bind", "source": %q, "target": "/x"}]`, source)
		return [4]string{json, `"-v", "` + source + `:/x"`, "volumes: ['" + source + ":/x']", json}
	}
	env := func(name, value string) [4]string {
		json := fmt.Sprintf(`"containerEnv": {%q: %q}`, name, value)
		return [4]string{json, `"-e", "` + name + "=" + value + `"`, "environment: {" + name + ": '" + value + "'}", json}
	}
	list := func(property, option, key, value string) [4]string {
		json := fmt.Sprintf(`%q: [%q]`, property, value)
		return [4]string{json, `"--` + option + "=" + value + `"`, key + ": ['" + value + "']", json}
	}
	for _, c := range []struct {
		name, rule string
		notations  [4]string
	}{
		{"privileged", "SBX402", [4]string{`"privileged": true`, `"--privileged"`, "privileged: true", `"privileged": true`}},
		{"capability", "SBX403", list("capAdd", "cap-add", "cap_add", "SYS_ADMIN")},
		{"system calls", "SBX405", list("securityOpt", "security-opt", "security_opt", "seccomp=unconfined")},
		{"labels", "SBX405", list("securityOpt", "security-opt", "security_opt", "label=disable")},
		{"engine's socket", "SBX401", mount("/var/run/docker.sock")},
		{"folder of the engine's socket", "SBX401", mount("/run")},
		{"DOCKER_HOST", "SBX401", env("DOCKER_HOST", "tcp://192.0.2.1:2375")},
		{"system folder", "SBX407", mount("/etc")},
		{"keys", "SBX407", mount("/root/.ssh")},
		{"X server", "SBX417", mount("/tmp/.X11-unix")},
		{"SSH agent", "SBX417", mount("/run/host-services/ssh-auth.sock")},
		{"key in a variable", "SBX501", env("NPM_TOKEN", key)},
	} {
		compose := devcontainer.Memory{
			".devcontainer/devcontainer.json": `{"dockerComposeFile": "c.yaml", "service": "a", "workspaceFolder": "/", "overrideCommand": true}`,
			".devcontainer/c.yaml":            "services:\n  a:\n    image: debian:13\n    " + c.notations[2] + "\n",
		}
		feature := devcontainer.Memory{
			".devcontainer/devcontainer.json":              image(`"features": {"./tool": {}}`),
			".devcontainer/tool/devcontainer-feature.json": `{"id": "tool", "version": "1.0.0", "name": "Tool", ` + c.notations[3] + `}`,
			".devcontainer/tool/install.sh":                "",
		}
		depending := devcontainer.Memory{
			".devcontainer/devcontainer.json":             image(`"features": {"./top": {}}`),
			".devcontainer/top/devcontainer-feature.json": `{"id": "top", "version": "1.0.0", "name": "Top", "dependsOn": {"./tool": {}}}`,
			".devcontainer/top/install.sh":                "",
		}
		for name, text := range feature {
			if strings.Contains(name, "/tool/") {
				depending[name] = text
			}
		}
		label := "devcontainer.metadata=[{" + c.notations[3] + "}]"
		dockerfile := devcontainer.Memory{
			".devcontainer/devcontainer.json": `{"build": {"dockerfile": "Dockerfile"}}`,
			".devcontainer/Dockerfile":        "FROM debian:13\nLABEL a=b " + strings.Replace(label, "=", "='", 1) + "'\n",
		}
		labelled := devcontainer.Memory{
			".devcontainer/devcontainer.json": compose[".devcontainer/devcontainer.json"],
			".devcontainer/c.yaml":            "services:\n  a:\n    image: debian:13\n    labels: [" + strconv.Quote(label) + "]\n",
		}
		byImage := devcontainer.Memory{
			".devcontainer/devcontainer.json": compose[".devcontainer/devcontainer.json"],
			".devcontainer/c.yaml":            "services:\n  a:\n    build: {context: ., labels: [" + strconv.Quote(label) + "]}\n",
			".devcontainer/Dockerfile":        "FROM debian:13\n",
		}
		for notation, got := range map[string]struct{ rules, want string }{
			"property":                   {reported(alone(image(c.notations[0]))), c.rule},
			"runArgs":                    {reported(alone(image(`"runArgs": [` + c.notations[1] + `]`))), c.rule},
			"Compose":                    {ids(t, compose), c.rule},
			"Feature":                    {ids(t, feature), c.rule},
			"Feature that one depends":   {ids(t, depending), c.rule},
			"LABEL":                      {ids(t, dockerfile), c.rule},
			"label of a service":         {ids(t, labelled), c.rule},
			"label of a service's build": {ids(t, byImage), c.rule},
			"--label":                    {reported(alone(image(`"runArgs": ["--label", ` + strconv.Quote(label) + `]`))), c.rule},
		} {
			if got.rules != got.want {
				t.Errorf("%s by %s: got %q, want %q", c.name, notation, got.rules, got.want)
			}
		}
	}
}

// A Feature that brings several rights has a finding for each.
func TestEachRightOfAFeature(t *testing.T) {
	tree := devcontainer.Memory{
		".devcontainer/devcontainer.json": image(`"features": {"./tool": {}}`),
		".devcontainer/tool/devcontainer-feature.json": `{"id": "tool", "version": "1.0.0", "name": "Tool", "capAdd": ["SYS_ADMIN"], ` +
			`"securityOpt": ["seccomp=unconfined"],
			"mounts": ["type=bind,source=/,target=/host", "type=bind,source=${localEnv:HOME}/.ssh,target=/keys"], "containerEnv": {"NPM_TOKEN": ` +
			`"a1b2c3d4e5f6a7b8c9d0e1f2"}}`,
		".devcontainer/tool/install.sh": "",
	}
	p, err := devcontainer.Load(tree, ".devcontainer/devcontainer.json", ".devcontainer/devcontainer.json")
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, f := range lint.Check(p) {
		all += fmt.Sprintf("%s:%d: %s [%s]\n", f.File, f.Line, f.Message, f.Rule)
	}
	for _, want := range []string{"the capability SYS_ADMIN reaches", "seccomp=unconfined switches",
		"the container gets all files of the host",
		"the container gets the host's ~/.ssh",
		"tool/devcontainer-feature.json:2: NPM_TOKEN holds what looks like a key [SBX501]"} {
		if !strings.Contains(all, want) {
			t.Errorf("nothing says %q:\n%s", want, all)
		}
	}
}

// A key that the host's variable of the same name fills in is the host's key.
func TestKeysOfTheHostWithoutAValue(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{image(`"runArgs": ["-e", "NPM_TOKEN"]`), "SBX502"},
		{image(`"runArgs": ["--env=NPM_TOKEN"]`), "SBX502"},
		{image(`"runArgs": ["-e", "NODE_ENV"]`), ""},
		{`{"build": {"dockerfile": "D", "options": ["--build-arg", "NPM_TOKEN"]}}`, "SBX504"},
		{`{"build": {"dockerfile": "D", "options": ["--build-arg", "VERSION"]}}`, ""},
	} {
		if got := reported(alone(c.src)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.src, got, c.want)
		}
	}
}
