package lint_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// The rules of family 3 and some of the first and the eighth say what the
// reference CLI makes of a file. The tests here ask the pinned CLI itself.

// project writes files into a new folder that the CLI works in.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sbx-ref-"+strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name())))
	for name, text := range files {
		full := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// found reports whether our rules say so, too.
func found(t *testing.T, dir, file, rule string) {
	t.Helper()
	err := devcontainer.Open(filepath.Join(dir, file), func(p *devcontainer.Project) error {
		for _, f := range lint.Check(p) {
			if f.Rule == rule {
				return nil
			}
		}
		return fmt.Errorf("%s is not found in %s", rule, p.Config.Src)
	})
	if err != nil {
		t.Error(err)
	}
}

// readConfiguration is what the CLI understands; ok is false when it gives up.
func readConfiguration(t *testing.T, dir string) (config map[string]any, ok bool) {
	t.Helper()
	cmd := testenv.Devcontainer(t, "read-configuration", "--workspace-folder", dir)
	cmd.Env = append(cmd.Env, "SBX_REF=value")
	out, err := cmd.Output()
	if err != nil {
		return nil, false
	}
	var answer struct{ Configuration map[string]any }
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return answer.Configuration, true
}

// Facts of how the CLI reads files: each fact is why a rule exists.
func TestFactsOfReading(t *testing.T) {
	t.Parallel()
	const name = ".devcontainer/devcontainer.json"
	for _, tt := range []struct {
		rule, src string
		want      func(config map[string]any, ok bool) bool
	}{
		{"SBX101", `{"image": "debian", privileged: false, "init": true}`, func(c map[string]any, ok bool) bool {
			_, there := c["privileged"]
			return ok && !there // dropped without a word
		}},
		{"SBX101", `{"image": "debian", "runArgs": ["--cap-drop=ALL"`, func(c map[string]any, ok bool) bool { return ok }},
		{"SBX101", `{"image": "debian"} {"image": "other", "remoteUser": "x"}`,
			func(c map[string]any, ok bool) bool { return c["image"] == "debian" && c["remoteUser"] == nil }},
		{"SBX102", `{"image": "debian", "remoteUser": "dev", "remoteUser": "root"}`,
			func(c map[string]any, ok bool) bool { return c["remoteUser"] == "root" }},
		{"SBX105", ``, func(_ map[string]any, ok bool) bool { return !ok }},
		{"SBX201", `{"image": "debian", "remoteuser": "dev"}`, func(c map[string]any, ok bool) bool { return ok && c["remoteUser"] == nil }},
		{"SBX304", `{"image": "debian", "containerEnv": {"A": "${workspaceFolder}"}}`, env("${workspaceFolder}")},
		{"SBX305", `{"image": "debian", "containerEnv": {"A": "${localEnv:SBX_NONE:https://example.com}"}}`, env("https")},
		{"SBX306", `{"image": "debian", "containerEnv": {"A": "${localEnv}"}}`, func(_ map[string]any, ok bool) bool { return !ok }},
		{"SBX307", `{"image": "debian", "containerEnv": {"A": "${env:SBX_REF}"}}`, env("value")},
		{"SBX308", `{"image": "debian", "containerEnv": {"A": "${containerEnv:PATH}"}}`, env("${containerEnv:PATH}")},
		{"SBX320", `{"image": "debian", "containerEnv": {"A": "$HOME/x"}}`, env("$HOME/x")},
		{"SBX323", `{"image": "debian", "forwardPorts": ["3000:3000"]}`, func(c map[string]any, ok bool) bool {
			ports, _ := c["forwardPorts"].([]any)
			return ok && slices.Equal(ports, []any{"3000:3000"}) // an editor's to understand
		}},
		{"SBX324", `{"image": "debian", "customizations": {"extensions": ["ms-python.python"]}}`, func(c map[string]any, ok bool) bool {
			all, _ := c["customizations"].(map[string]any)
			return ok && all["vscode"] == nil
		}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			dir := project(t, map[string]string{name: tt.src})
			if config, ok := readConfiguration(t, dir); !tt.want(config, ok) {
				t.Errorf("%s\nis read as %v (%v)", tt.src, config, ok)
			}
			found(t, dir, name, tt.rule)
		})
	}
	t.Run("SBX315", func(t *testing.T) {
		dir := project(t, map[string]string{name: `{"image": "first"}`, ".devcontainer.json": `{"image": "second"}`})
		if config, _ := readConfiguration(t, dir); config["image"] != "first" {
			t.Errorf("read as %v", config)
		}
		found(t, dir, ".devcontainer.json", "SBX315")
	})
}

// merged asks the CLI for the merged configuration, for which it has Compose
// read the files; it returns what it says when it gives up, "" otherwise.
func merged(t *testing.T, dir string) (refusal string) {
	t.Helper()
	testenv.Program(t, "docker-compose")
	out, err := testenv.Devcontainer(t, "read-configuration", "--include-merged-configuration", "--workspace-folder", dir).CombinedOutput()
	if err == nil {
		return ""
	}
	return string(out)
}

// What Compose and the CLI refuse. Nothing is started.
func TestFactsOfCompose(t *testing.T) {
	t.Parallel()
	const name = ".devcontainer/devcontainer.json"
	const config = `{"dockerComposeFile": "c.yml", "service": "ap", "workspaceFolder": "/w"}`
	const app = "services:\n  app:\n    image: 'debian:bookworm-slim'\n    command: sleep infinity\n    volumes: ['..:/w']\n"
	known := strings.Replace(config, `"ap"`, `"app"`, 1)
	for _, tt := range []struct{ name, rule, config, compose, refusal string }{
		{"no such service", "SBX313", config, "services: {app: {image: 'debian:bookworm-slim'}}\n", "c.yml config"},
		{"not YAML", "SBX316", config, "services:\n  ap:\n\timage: 'debian:bookworm-slim'\n", "line 3"},
		// Compose and the CLI say nothing about a database that will not start, or that is elsewhere.
		{"database without a password", "SBX331", known, app + "  db: {image: 'postgres:16'}\n", ""},
		{"database at localhost", "SBX332", known, app + "    environment: {PGHOST: localhost}\n  db: {image: 'postgres:16'}\n", ""},
		{"volume beside the data", "SBX333", known, app +
			"  db:\n    image: mongo:8\n    volumes: ['m:/var/lib/mongodb']\nvolumes: {m: {}}\n", ""},
		{"quotes in a list", "SBX334", known, app + "    environment:\n      - A=\"b\"\n", ""},
		{"a service, in a later file", "", strings.Replace(config, `"c.yml"`, `["c.yml", "d.yml"]`, 1),
			"services: {app: {image: 'debian:bookworm-slim'}}\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := project(t,
				map[string]string{name: tt.config, ".devcontainer/c.yml": tt.compose,
					".devcontainer/d.yml": "services: {ap: {image: 'debian:bookworm-slim'}}\n"})
			refusal := merged(t, dir)
			if (refusal == "") != (tt.refusal == "") || !strings.Contains(refusal, tt.refusal) {
				t.Errorf("the CLI says %q", refusal)
			}
			if tt.rule != "" {
				found(t, dir, name, tt.rule)
			}
		})
	}
}

// Each rule of the third family is asked of the CLI somewhere in this file.
func TestEveryReferenceRuleIsAFact(t *testing.T) {
	src, err := os.ReadFile("reference_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range lint.Rules() {
		if r.ID[3] == '3' && !strings.Contains(string(src), `"`+r.ID+`"`) {
			t.Errorf("%s says what the reference CLI does, and nobody asked it", r.ID)
		}
	}
}

func env(want string) func(map[string]any, bool) bool {
	return func(c map[string]any, ok bool) bool {
		e, _ := c["containerEnv"].(map[string]any)
		return ok && e["A"] == want
	}
}

// up lets the CLI start a container and returns what it says.
func up(t *testing.T, dir string) (answer map[string]any) {
	t.Helper()
	t.Cleanup(func() {
		docker := testenv.Program(t, "docker")
		ids, _ := exec.Command(docker, "ps", "-aq", "--filter", "label=devcontainer.local_folder="+dir).Output()
		for _, id := range strings.Fields(string(ids)) {
			_ = exec.Command(docker, "rm", "-f", "-v", id).Run()
		}
	})
	out, _ := testenv.Devcontainer(t, "up", "--workspace-folder", dir).Output()
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatalf("devcontainer up printed %q: %v", out, err)
	}
	return answer
}

// Facts of how the CLI starts containers, which are real ones.
func TestFactsOfStarting(t *testing.T) {
	testenv.Root(t)
	docker := testenv.Program(t, "docker")
	if err := exec.Command(docker, "image", "inspect", "debian:bookworm-slim").Run(); err != nil {
		testenv.Missing(t, "the image debian:bookworm-slim", err.Error())
	}
	const name = ".devcontainer/devcontainer.json"

	t.Run("written so and started otherwise", func(t *testing.T) {
		dir := project(t, map[string]string{"data/x": "", name: `{
  "image": "debian:bookworm-slim",
  "privileged": "false",
  "mounts": [
    {"type": "bind", "source": "${localWorkspaceFolder}/data", "target": "/data", "readonly": true},
    "type=tmpfs,target=/twice,tmpfs-size=1m", "type=tmpfs,target=/twice,tmpfs-size=2m"
  ],
  "containerEnv": {"NOTHING": null, "EARLY": "${containerEnv:PATH}"},
  "appPort": ["127.0.0.1::9"],
  "workspaceMount": "type=bind,source=${localWorkspaceFolder},target=/elsewhere"
}`})
		answer := up(t, dir)
		id, _ := answer["containerId"].(string)
		out, err := exec.Command(docker, "inspect", id).Output()
		if err != nil {
			t.Fatalf("%v: %v", answer, err)
		}
		var list []struct {
			HostConfig struct {
				Privileged bool
				Mounts     []struct{ Type, Target string }
			}
			Config struct{ Env, Entrypoint []string }
			Mounts []struct {
				Destination string
				RW          bool
			}
		}
		if err := json.Unmarshal(out, &list); err != nil {
			t.Fatal(err)
		}
		c := list[0]
		for rule, holds := range map[string]bool{
			"SBX301": c.HostConfig.Privileged,
			"SBX302": slices.ContainsFunc(c.Mounts, func(m struct {
				Destination string
				RW          bool
			}) bool {
				return m.Destination == "/data" && m.RW
			}),
			"SBX303": slices.Contains(c.Config.Env, "NOTHING=null"),
			"SBX308": slices.Contains(c.Config.Env, "EARLY=${containerEnv:PATH}"),
			"SBX309": answer["remoteWorkspaceFolder"] != "/elsewhere",
			"SBX312": countTargets(c.HostConfig.Mounts, "/twice") == 1,
		} {
			if !holds {
				t.Errorf("%s is not so: %v %+v", rule, answer, c)
			}
			found(t, dir, name, rule)
		}
		// The same fact is behind SBX802: the image's entrypoint never runs.
		if !slices.Equal(c.Config.Entrypoint, []string{"/bin/sh"}) {
			t.Errorf("entrypoint %v", c.Config.Entrypoint)
		}
	})

	// A property beside dockerComposeFile wins: the file need not even be there.
	t.Run("SBX205 and Compose", func(t *testing.T) {
		dir := project(t,
			map[string]string{
				name: `{"image": "debian:bookworm-slim", "dockerComposeFile": "none.yml", "service": "s", "workspaceFolder": "/w", ` +
					`"updateRemoteUserUID": false}`})
		if answer := up(t, dir); answer["outcome"] != "success" {
			t.Errorf("the Compose file counts: %v", answer)
		}
		found(t, dir, name, "SBX205")
	})

	// The Dockerfile that the rules read is the one that is built.
	t.Run("a Dockerfile by the workspace's folder", func(t *testing.T) {
		dir := project(t, map[string]string{name: `{"build": {"dockerfile": "${localWorkspaceFolder}/images/Dockerfile", ` +
			`"context": "${localWorkspaceFolder}/images"}, "remoteUser": "root"}`, "images/Dockerfile": "FROM debian:bookworm-slim\nCOPY x none /\n",
			"images/x": ""})
		found(t, dir, name, "SBX729")
		if err := os.WriteFile(filepath.Join(dir, "images", "none"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if answer := up(t, dir); answer["outcome"] != "success" {
			t.Errorf("%v", answer)
		}
	})

	// Files of variables are looked for from the project's folder.
	t.Run("a file of variables", func(t *testing.T) {
		dir := project(t, map[string]string{name: `{"image": "debian:bookworm-slim", "runArgs": ["--env-file", ".devcontainer/x.env"]}`,
			".devcontainer/x.env": "A=b\n"})
		if answer := up(t, dir); answer["outcome"] != "success" {
			t.Errorf("%v", answer)
		}
	})

	// The folder that is opened is not there, and an option of a Feature is nobody's.
	t.Run("SBX317 and SBX325", func(t *testing.T) {
		dir := project(t, map[string]string{name: `{"image": "debian:bookworm-slim", "workspaceFolder": "/src", "postStartCommand": "true"}`})
		if answer := up(t, dir); answer["outcome"] != "error" {
			t.Errorf("a command runs in a folder that is not there: %v", answer)
		}
		found(t, dir, name, "SBX317")
		const metadata = `{"id": "tool", "version": "1.0.0", "name": "T", "options": {"version": {"type": "string", "default": "1"}}}`
		dir = project(t,
			map[string]string{name: `{"image": "debian:bookworm-slim", "features": {"./tool": {"verison": "2"}}, "updateRemoteUserUID": false}`,
				".devcontainer/tool/devcontainer-feature.json": metadata, ".devcontainer/tool/install.sh": "test \"$VERSION\" = 1\n"})
		if answer := up(t, dir); answer["outcome"] != "success" {
			t.Errorf("the option is refused, or taken for version: %v", answer)
		}
		found(t, dir, name, "SBX325")
	})

	// A hook that fails leaves a container that the next start calls good.
	t.Run("SBX314 and SBX803", func(t *testing.T) {
		dir := project(t, map[string]string{name: `{"image": "debian:bookworm-slim", "postStartCommand": ["true && true"]}`})
		if answer := up(t, dir); answer["outcome"] != "error" {
			t.Errorf("a program called %q was found: %v", "true && true", answer)
		}
		if answer := up(t, dir); answer["outcome"] != "success" {
			t.Errorf("the second start says %v", answer)
		}
		found(t, dir, name, "SBX314")
	})

	for _, tt := range []struct{ rule, src string }{
		{"SBX310", `{"image": "debian:bookworm-slim", "mounts": ["type=bind,source=${localWorkspaceFolder}"]}`},
		{"SBX310", `{"image": "debian:bookworm-slim", "mounts": ["${localWorkspaceFolder}:/x"]}`},
		{"SBX311", `{"build": {"dockerfile": "Dockerfile"}}`},
		{"SBX311", `{"image": "debian:bookworm-slim", "features": {"../feature": {}}}`},
		{"SBX311", `{"build": {"dockerfile": "dockerfile", "context": "../none"}}`},
		{"SBX310", `{"image": "debian:bookworm-slim", "mounts": ["source=${localWorkspaceFolder},target=/x"]}`},
		{"SBX318", `{"image": "debian:bookworm-slim", "postStartCommand": ".devcontainer/dockerfile"}`},
		{"SBX319", `{"image": "debian:bookworm-slim", "postStartCommand": "true &; true"}`},
		{"SBX320", `{"image": "debian:bookworm-slim", "containerEnv": {"PATH": "$PATH:/x"}}`},
		{"SBX321", `{"image": "debian:bookworm-slim", "runArgs": ["--network host"]}`},
		{"SBX321", `{"image": "debian:bookworm-slim", "runArgs": ["--privilegd"]}`},
		{"SBX322", `{"image": "Debian:bookworm-slim"}`},
		{"SBX326", `{"dockerComposeFile": "compose.yaml", "service": "app", "workspaceFolder": "/"}`},
		{"SBX317", `{"image": "debian:bookworm-slim", "workspaceFolder": "src", "postStartCommand": "true"}`},
		{"SBX317", `{"image": "debian:bookworm-slim", "workspaceFolder": "/app", "postStartCommand": "true",
			"workspaceMount": "type=bind,source=${localWorkspaceFolder},target=/src"}`},
		{"SBX335", `{"image": "debian:bookworm-slim", "mounts": ["type=bind,source=${localEnv:SBX_NOT_SET},target=/a"]}`},
		{"SBX703", `{"image": "debian:bookworm-slim", "remoteUser": "vscode"}`},
		{"SBX712", `{"build": {"dockerfile": "dockerfile", "target": "dev"}}`},
		{"SBX729", `{"build": {"dockerfile": "copying"}}`},
		{"SBX730", `{"build": {"dockerfile": "late"}}`},
		{"SBX313", `{"dockerComposeFile": "compose.yaml", "service": "ap", "workspaceFolder": "/"}`},
		{"SBX319", `{"image": "debian:bookworm-slim", "postStartCommand": "a=(1 2); echo ${a[0]}"}`},
		{"SBX319", `{"image": "debian:bookworm-slim", "postStartCommand": "source /etc/profile && true"}`},
		{"SBX319", `{"image": "debian:bookworm-slim", "postStartCommand": "[[ -d / ]] && true"}`},
		{"SBX735", `{"image": "debian:bookworm-slim", "postStartCommand": "sudo true"}`},
		{"SBX311", `{"image": "debian:bookworm-slim", "mounts": ["type=bind,source=${localWorkspaceFolder}/none,target=/x"]}`},
		{"SBX311", `{"image": "debian:bookworm-slim", "runArgs": ["--env-file", ".devcontainer/none.env"]}`},
		{"SBX310", `{"image": "debian:bookworm-slim", "mounts": ["type=bind,source=~/x,target=/x"]}`},
		{"SBX310", `{"image": "debian:bookworm-slim", "mounts": ["type=bind,source=x,target=/x"]}`},
		{"SBX310", `{"image": "debian:bookworm-slim", "mounts": ["type=volume,source=x,target=/"]}`},
		{"SBX321", `{"image": "debian:bookworm-slim", "runArgs": ["-privileged"]}`},
		{"SBX321", `{"image": "debian:bookworm-slim", "runArgs": ["--init", "host"]}`},
		{"SBX321", `{"image": "debian:bookworm-slim", "runArgs": ["--name=my container"]}`},
		{"SBX321", `{"image": "debian:bookworm-slim", "runArgs": ["-d"]}`},
		{"SBX703", `{"image": "debian:bookworm-slim", "runArgs": ["--user", "vscode"]}`},
		{"SBX703", `{"build": {"dockerfile": "owner"}}`},
		{"SBX710", `{"build": {"dockerfile": "lists"}}`},
		{"SBX325", `{"image": "debian:bookworm-slim", "features": {"ghcr.io/devcontainers/features/go@1": {}}}`},
		{"SBX325", `{"image": "debian:bookworm-slim", "features": {"https://github.com/devcontainers/features/tree/main/src/go": {}}}`},
		{"SBX327", `{"image": "debian:bookworm-slim", "containerEnv": {"PATH": "/opt/x/bin"}, "postStartCommand": "ls"}`},
		{"SBX313",
			`{"dockerComposeFile": "compose.yaml", "service": "app", "runServices": ["dbb"], "workspaceFolder": "/", "overrideCommand": true}`},
		{"SBX328", `{"image": "debian:bookworm-slim", "postCreateCommand": "timeout 1 tail -f /dev/null"}`}, // which it waits for
		{"SBX329", `{"image": "debian:bookworm-slim", "onCreateCommand": "mkdir /tmp/x", "postStartCommand": "mkdir /tmp/x"}`},
		{"SBX330", `{"image": "node:22-bookworm-slim", "remoteUser": "node", "postStartCommand": "touch modules/x", ` +
			`"mounts": ["type=volume,target=${containerWorkspaceFolder}/modules"]}`},
		{"SBX749", `{"image": "debian:bookworm-slim", "postStartCommand": "git --version"}`},
		{"SBX751", `{"image": "node:22-bookworm-slim", "remoteUser": "node", "postStartCommand": "apt-get update"}`},
		{"SBX748", `{"build": {"dockerfile": "bash"}}`},
		{"SBX749", `{"build": {"dockerfile": "git"}}`},
		{"SBX750", `{"build": {"dockerfile": "taken"}}`},
		{"SBX751", `{"build": {"dockerfile": "root"}}`},
		{"SBX752", `{"build": {"dockerfile": "gone"}}`},
		{"SBX753", `{"build": {"dockerfile": "early"}}`},
		{"SBX321", `{"image": "debian:bookworm-slim", "runArgs": ["--workdir=app"]}`},
		// Of two sources it takes the one that is not there.
		{"SBX205", `{"dockerFile": "none", "build": {"dockerfile": "dockerfile"}}`},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			if strings.Contains(tt.src, "dockerComposeFile") && os.Getenv("SBX_ALL_FACTS") == "" {
				t.Skip("make test-slow: the CLI asks Compose for many seconds")
			}
			dir := project(t, map[string]string{name: tt.src, ".devcontainer/dockerfile": "FROM debian:bookworm-slim\n",
				".devcontainer/copying":             "FROM debian:bookworm-slim\nCOPY none.sh /\n",
				".devcontainer/late":                "FROM debian:${V}\nARG V=bookworm-slim\n",
				".devcontainer/owner":               "FROM debian:bookworm-slim\nCOPY --chown=dev late /x\n",
				".devcontainer/lists":               "FROM debian:bookworm-slim\nRUN apt-get install -y cowsay\n",
				".devcontainer/bash":                "FROM debian:bookworm-slim\nRUN [[ -d / ]] && true\n",
				".devcontainer/git":                 "FROM debian:bookworm-slim\nRUN git --version\n",
				".devcontainer/taken":               "FROM node:22-bookworm-slim\nRUN groupadd --gid 1000 dev\n",
				".devcontainer/root":                "FROM node:22-bookworm-slim\nUSER node\nRUN apt-get update\n",
				".devcontainer/gone":                "FROM debian:bookworm-slim\nRUN apt-get update && apt-get install -y netcat\n",
				".devcontainer/early":               "FROM debian:bookworm-slim\nRUN sh /late.sh\nCOPY late /late.sh\n",
				"feature/devcontainer-feature.json": `{"id": "feature", "version": "1.0.0", "name": "F"}`, "feature/install.sh": "true\n",
				".devcontainer/compose.yaml": "services:\n  app:\n    image: debian:bookworm-slim\n"})
			if answer := up(t, dir); answer["outcome"] != "error" {
				t.Errorf("it starts: %v", answer)
			}
			found(t, dir, name, tt.rule)
		})
	}
}

func countTargets(mounts []struct{ Type, Target string }, target string) (n int) {
	for _, m := range mounts {
		if m.Target == target {
			n++
		}
	}
	return n
}
