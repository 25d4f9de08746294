package lint_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/diag"
)

// A fact of an image that nobody asked for makes a warning, and one that is certain an error.
func TestErrorsRestOnFactsThatWereAsked(t *testing.T) {
	for _, c := range []struct {
		dockerfile, rule string
		severity         diag.Severity // "" = no finding
	}{
		{"FROM debian:13\nRUN curl a\n", "SBX749", diag.SeverityError},
		{"FROM alpine:3.22\nRUN bash a\n", "SBX749", diag.SeverityError},
		{"FROM ubuntu:24.04\nRUN curl a\n", "SBX749", diag.SeverityWarning},
		{"FROM ubuntu:24.04\nRUN apk add a\n", "SBX749", diag.SeverityError},
		{"FROM fedora:43\nRUN apt-get update\n", "SBX749", diag.SeverityError},
		{"FROM ubuntu:24.04\nSHELL [\"/bin/zsh\", \"-c\"]\nRUN a\n", "SBX749", diag.SeverityWarning},
		{"FROM debian:13\nRUN apt-get update && apt-get install -y neofetch\n", "SBX752", diag.SeverityError},
		{"FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y libgl1-mesa-glx\n", "SBX752", diag.SeverityWarning},
		{"FROM ubuntu:24.04\nRUN useradd -u 1000 dev\n", "SBX750", diag.SeverityError},
		{"FROM debian:13\nRUN apt-get install -y git\n", "SBX710", diag.SeverityError},
		{"FROM ubuntu:24.04\nRUN apt-get install -y git\n", "SBX710", diag.SeverityWarning},
		{"FROM ubuntu:24.04\nRUN sudo a\n", "SBX735", diag.SeverityError},
		{"FROM maven:3\nRUN sudo a\n", "SBX735", diag.SeverityWarning},
		{"FROM fedora:43\nRUN sudo a\n", "SBX735", ""},
		{"FROM ubuntu:22.04\nUSER ubuntu\n", "SBX703", diag.SeverityError},
		{"FROM ubuntu:24.04\nUSER ubuntu\n", "SBX703", ""},
		{"FROM eclipse-temurin:21\nUSER ubuntu\n", "SBX703", ""},
		{"FROM eclipse-temurin:21\nUSER dev\n", "SBX703", diag.SeverityWarning},
		{"FROM fedora:43\nUSER dev\n", "SBX703", diag.SeverityWarning},
	} {
		files := devcontainer.Memory{configName: `{"build": {"dockerfile": "Dockerfile"}}`, ".devcontainer/Dockerfile": c.dockerfile}
		p, err := devcontainer.Load(files, configName, configName)
		if err != nil {
			t.Fatal(err)
		}
		got := diag.Severity("")
		for _, f := range lint.Check(p) {
			if f.Rule == c.rule {
				got = f.Severity
			}
		}
		if got != c.severity {
			t.Errorf("%q: %s is %q, not %q", c.dockerfile, c.rule, got, c.severity)
		}
	}
}

// A file from which a generator makes a Dockerfile has placeholders: by itself it is not judged. One that a configuration
// builds is.
func TestFilesOfGeneratorsAreNoDockerfiles(t *testing.T) {
	const text = "FROM <%= image %>\n{{ steps }}\nRUN if {{ x }}\nRUN chmod 777 /\n"
	for name, judged := range map[string]bool{"Dockerfile": true, "Dockerfile.dev": true, "Dockerfile.template": false, "Dockerfile.tt": false,
		"Dockerfile.j2": false, "Dockerfile.erb": false, "Dockerfile-alpine.template": false, "Dockerfile.Jinja": false,
		"Dockerfile.template.dev": true} {
		p, err := devcontainer.Load(devcontainer.Memory{name: text}, name, name)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(lint.Check(p)) > 0; got != judged {
			t.Errorf("%s: judged is %v", name, got)
		}
	}
	files := devcontainer.Memory{configName: `{"build": {"dockerfile": "Dockerfile.in"}}`,
		".devcontainer/Dockerfile.in": "FROM a:1\nRUN chmod 777 /\n"}
	p, err := devcontainer.Load(files, configName, configName)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range lint.Check(p) {
		found = found || f.Rule == "SBX717"
	}
	if !found {
		t.Error("the Dockerfile of a configuration is not judged")
	}
}

// A volume below the workspace belongs to root, in each notation that brings it, unless something gives it to the user.
func TestVolumesOfRootInEachNotation(t *testing.T) {
	const image = `"image": "mcr.microsoft.com/devcontainers/typescript-node:22"`
	const service = "services:\n  app:\n    image: mcr.microsoft.com/devcontainers/typescript-node:22\n" +
		"    volumes: ['..:/w', 'm:/w/node_modules']\n"
	const composed = `{"dockerComposeFile": "c.yaml", "service": "app", "workspaceFolder": "/w"`
	for _, c := range []struct {
		name, config, compose, want string // want is a part of the line that the finding is about; "" = no finding
	}{
		{"property", `{` + image + `, "mounts": ["type=volume,source=m,target=${containerWorkspaceFolder}/m"]}`, "", `"mounts"`},
		{"-v", `{` + image + `, "workspaceFolder": "/w", "workspaceMount": "type=bind,source=.,target=/w", "runArgs": ["-v", "m:/w/m"]}`, "",
			`"-v"`},
		{"--mount", `{` + image + `, "workspaceFolder": "/w", "workspaceMount": "type=bind,source=.,target=/w", ` +
			`"runArgs": ["--mount=type=volume,source=m,target=/w/m"]}`, "", `--mount`},
		{"-v of a folder",
			`{` + image + `, "workspaceFolder": "/w", "workspaceMount": "type=bind,source=.,target=/w", "runArgs": ["-v", "/m:/w/m"]}`, "", ""},
		{"Compose", composed + `}`, service, "m:/w/node_modules"},
		{"another service", composed + `}`,
			strings.Replace(service, "app:", "app:\n    image: mcr.microsoft.com/devcontainers/typescript-node:22\n"+
				"    volumes: ['..:/w']\n  db:", 1), ""},
		{"Compose with a hook", composed + `, "postCreateCommand": "sudo chown node node_modules"}`, service, ""},
		{"Compose with a command", composed + `, "overrideCommand": false}`,
			service + "    command: sh -c 'chown node /w/node_modules; sleep infinity'\n", ""},
		{"Compose as root", composed + `, "remoteUser": "root"}`, service, ""},
	} {
		p, err := devcontainer.Load(devcontainer.Memory{configName: c.config, ".devcontainer/c.yaml": c.compose}, configName, configName)
		if err != nil {
			t.Fatal(err)
		}
		found := lint.Check(p)
		n := slices.IndexFunc(found, func(f diag.Finding) bool { return f.Rule == "SBX330" })
		if n < 0 || c.want == "" {
			if n >= 0 || c.want != "" {
				t.Errorf("%s: found %v, want %q", c.name, n >= 0, c.want)
			}
			continue
		}
		text := c.config
		if strings.HasSuffix(found[n].File, "c.yaml") {
			text = c.compose
		}
		if line := strings.Split(text, "\n")[found[n].Line-1]; !strings.Contains(line, c.want) {
			t.Errorf("%s: the finding is about %q", c.name, line)
		}
	}
}
