package lint_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/diag"
)

// Mistakes that keep a container from starting, or from doing what was meant, and what
// only looks like one. The pages of the rules have one of each more.
func TestWhatDoesNotStart(t *testing.T) {
	config := func(rest string) devcontainer.Memory {
		return devcontainer.Memory{".devcontainer/devcontainer.json": `{"image": "node:24", "remoteUser": "node", ` + rest + `}`}
	}
	composed := func(rest, service string) devcontainer.Memory {
		return devcontainer.Memory{".devcontainer/devcontainer.json": `{"dockerComposeFile": "c.yaml", "service": "a", ` + rest + `}`,
			".devcontainer/c.yaml": "services:\n  a:\n    " + service + "\n"}
	}
	build := func(more, text string) devcontainer.Memory {
		return devcontainer.Memory{".devcontainer/devcontainer.json": `{"build": {"dockerfile": "Dockerfile"` + more + `}}`,
			".devcontainer/Dockerfile": text + "USER 1\n", "src/main.go": ""}
	}
	for _, c := range []struct {
		name string
		tree devcontainer.Memory
		want string
	}{
		{"a relative folder", config(`"workspaceFolder": "src"`), `SBX317 "src"`},
		{"a folder apart from its mount",
			config(`"workspaceFolder": "/app", "workspaceMount": "type=bind,source=${localWorkspaceFolder},target=/src"`),
			`SBX317 "/app"`},
		{"a folder of the mount",
			config(`"workspaceFolder": "/src/app", "workspaceMount": "type=bind,source=${localWorkspaceFolder},target=/src"`), ""},
		{"the folder above all projects", config(`"workspaceFolder": "/workspaces"`), ""},
		{"a project by its name", config(`"workspaceFolder": "/workspaces/${localWorkspaceFolderBasename}/sub"`), ""},
		{"a mount of another kind", config(`"workspaceFolder": "/src", "mounts": ["type=volume,source=v,target=/src"]`), ""},
		{"no mount at all", config(`"workspaceFolder": "/src", "workspaceMount": ""`), ""},
		{"a home of the image", config(`"workspaceFolder": "/home/node"`), `SBX317 "/home/node"`},
		{"a folder by a variable", config(`"workspaceFolder": "${localEnv:WORK}"`), ""},
		{"a volume of Compose above it", composed(`"workspaceFolder": "/workspaces/${localWorkspaceFolderBasename}"`,
			"image: example.com/a:1\n    volumes: [../..:/workspaces:cached]"), ""},
		{"another volume of Compose", composed(`"workspaceFolder": "/workspaces/x"`, "image: example.com/a:1\n    volumes: [..:/workspace]"),
			`SBX317 "/workspaces/x"`},
		{"a volume of Compose by a variable",
			composed(`"workspaceFolder": "/w"`, "image: example.com/a:1\n    volumes: ['..:${WHERE:-/w}']"), ""},

		{"a shell without a terminal", composed(`"workspaceFolder": "/"`, "image: python:3.13"), `SBX326 a`},
		{"a shell with a terminal", composed(`"workspaceFolder": "/"`, "image: python:3.13\n    tty: true"), ""},
		{"a command that only prints", composed(`"workspaceFolder": "/"`, "image: debian:13\n    command: echo hi"), `SBX326 echo hi`},
		{"a shell that only prints", composed(`"workspaceFolder": "/"`, "image: debian:13\n    command: sh -c 'echo hi && date'"),
			`SBX326 sh -c 'echo hi && date'`},
		{"a shell as the command", composed(`"workspaceFolder": "/"`, "image: debian:13\n    command: [bash]"), `SBX326 [bash]`},
		{"a command that prints and stays",
			composed(`"workspaceFolder": "/"`, "image: debian:13\n    command: sh -c 'echo hi; sleep infinity'"), ""},
		{"a command that prints, replaced",
			composed(`"workspaceFolder": "/", "overrideCommand": true`, "image: debian:13\n    command: echo hi"), ""},
		{"a command that an entrypoint takes",
			composed(`"workspaceFolder": "/"`, "image: debian:13\n    entrypoint: [tini]\n    command: echo hi"), ""},
		{"a server of a language", composed(`"workspaceFolder": "/"`, "image: php:8-fpm"), ""},
		{"a server", composed(`"workspaceFolder": "/"`, "image: nginx:1"), ""},
		{"a command in its place", composed(`"workspaceFolder": "/", "overrideCommand": true`, "image: python:3.13"), ""},

		{"a script that is not there", config(`"postCreateCommand": "bash .devcontainer/setup.sh"`), `SBX318 "bash .devcontainer/setup.sh"`},
		{"one of several hooks", config(`"postCreateCommand": {"a": "true", "b": "./.devcontainer/b.sh"}`), `SBX318 "./.devcontainer/b.sh"`},
		{"a program of the image", config(`"postCreateCommand": "setup"`), ""},
		{"a script that a hook makes",
			config(
				`"onCreateCommand": "curl -o .devcontainer/setup.sh https://example.com", "postCreateCommand": "bash .devcontainer/setup.sh"`), ""},
		{"a script of another folder", config(`"postCreateCommand": "cd sub && ./setup.sh"`), ""},
		{"a script of a folder that a build makes", config(`"postCreateCommand": "./node_modules/.bin/tool"`), ""},
		{"a script that is asked for", config(`"postCreateCommand": "[ -f local.sh ] && bash local.sh"`), ""},
		{"a script that may be missing", config(`"postCreateCommand": "bash local.sh || true"`), ""},
		{"a script from a pipe", config(`"postCreateCommand": "gh alias list | bash -"`), ""},
		{"a script from a command", config(`"postCreateCommand": ["bash", "-c", "bash <(setup)"]`), ""},
		{"a script where the project is elsewhere",
			config(`"workspaceFolder": "/w", "workspaceMount": "", "postCreateCommand": "./setup.sh"`), ""},
		{"a shell's own words", devcontainer.Memory{"README": "", ".devcontainer/devcontainer.json": `{"image": "node:24", ` +
			`"remoteUser": "node", "postCreateCommand": "bash -c './x.sh'"}`}, `SBX318 "bash -c './x.sh'"`},

		{"words that no shell reads", config(`"postCreateCommand": "if true; then"`), `SBX319 "if true; then"`},
		{"bash", config(`"postCreateCommand": "[[ -f x ]] && source x <(true)"`), `SBX319 "[[ -f x ]] && source x <(true)"`},
		{"bash in bash", config(`"postCreateCommand": "bash -c '[[ -f x ]] && source x'"`), ""},
		{"bash in another image",
			devcontainer.Memory{
				".devcontainer/devcontainer.json": `{"image": "fedora:43", "postCreateCommand": "[[ -f x ]] && source x <(true)"}`}, ""},
		{"our variables in a command", config(`"postCreateCommand": "echo ${localEnv:A} ${containerWorkspaceFolder}"`), ""},
		{"lines in an array", config(`"postCreateCommand": ["mkdir -p x", "echo hi"]`), `SBX314 ["mkdir -p x", "echo hi"]`},
		{"an argument with spaces", config(`"postCreateCommand": ["git", "commit", "-m", "a b"]`), ""},

		{"PATH of a shell", config(`"remoteEnv": {"PATH": "$PATH:/x"}`), `SBX320 "$PATH:/x"`},
		{"a mount of a shell's", config(`"mounts": ["type=bind,source=/home/$USER/x,target=/x"]`),
			`SBX320 "type=bind,source=/home/$USER/x,target=/x"`},
		{"a prompt", config(`"remoteEnv": {"PS1": "$PWD> "}`), ""},
		{"a password with a dollar", config(`"remoteEnv": {"GREETING": "cost: $5 or $x"}`), ""},

		{"a value behind its option", config(`"runArgs": ["--label", "-x y"]`), ""},
		{"an option with =", config(`"runArgs": ["--label=a b"]`), ""},
		{"a port with its option", config(`"runArgs": ["-p 127.0.0.1:3000:3000"]`),
			`SBX321 "-p 127.0.0.1:3000:3000"`},
		{"an option of a newer engine", config(`"runArgs": ["--brand-new=x"]`), `SBX321 "--brand-new=x"`},

		{"a digest", devcontainer.Memory{".devcontainer/devcontainer.json": `{"image": "ghcr.io/a/b:1@sha256:0"}`},
			`SBX322 "ghcr.io/a/b:1@sha256:0"`},
		{"a registry with a port", devcontainer.Memory{".devcontainer/devcontainer.json": `{"image": "localhost:5000/a/b:1"}`}, ""},
		{"a user that the image lacks", devcontainer.Memory{".devcontainer/devcontainer.json": `{"image": "node:24", "remoteUser": "vscode"}`},
			`SBX703 "vscode"`},
		{"a user of a Feature",
			devcontainer.Memory{".devcontainer/devcontainer.json": `{"image": "node:24", "remoteUser": "vscode", "features": {"./x": {}}}`,
				".devcontainer/x/devcontainer-feature.json": `{"id": "x", "version": "1.0.0"}`, ".devcontainer/x/install.sh": ""}, ""},
		{"a volume with a path for its name", config(`"mounts": ["source=/tmp/x,target=/x"]`), `SBX310 "source=/tmp/x,target=/x"`},
		{"another container's port", config(`"forwardPorts": ["db:5432"], "runArgs": ["--network=of-db"]`), `SBX321 "--network=of-db"`},

		{"extensions outside of an editor", config(`"customizations": {"extensions": ["a.b"]}`), `SBX324 "extensions"`},
		{"a slip in an editor's", config(`"customizations": {"vscode": {"extension": ["a.b"]}}`), `SBX324 "extension"`},
		{"ids of extensions", config(`"customizations": {"vscode": {"extensions": ["a.b@1.2.3", "-a.b", "./x.vsix", "${localEnv:X}"]}}`), ""},
		{"two engines",
			config(
				`"features": {"ghcr.io/devcontainers/features/docker-in-docker:2": {}, ` +
					`"ghcr.io/devcontainers/features/docker-outside-of-docker:1": {}}`),
			`SBX325 "ghcr.io/devcontainers/features/docker-outside-of-docker:1"`},
		{"an order of dependencies", config(`"features": {"ghcr.io/a/b/c:1": {}}, "overrideFeatureInstallOrder": ["ghcr.io/other/x/y"]`), ""},

		{"no such context", build(`, "context": "../nope"`, "FROM node:24\n"), `SBX311 "../nope"`},
		{"a Dockerfile by the workspace's folder", devcontainer.Memory{".devcontainer/devcontainer.json": `{"build": {"context": ` +
			`"${localWorkspaceFolder}/.devcontainer", "dockerfile": "${localWorkspaceFolder}/.devcontainer/Dockerfile"}}`,
			".devcontainer/Dockerfile": "FROM node:24\nCOPY x nope /\nUSER 1\n", ".devcontainer/x": ""}, "SBX729 nope"},
		{"no Dockerfile in the workspace's folder", devcontainer.Memory{".devcontainer/devcontainer.json": `{"build": {"dockerfile": ` +
			`"${localWorkspaceFolder}/Dockerfile"}}`}, `SBX311 "${localWorkspaceFolder}/Dockerfile"`},
		{"a file outside of the context", build("", "FROM node:24\nCOPY ../src /src\n"), "SBX729 ../src"},
		{"a file that is not there", build(`, "context": ".."`, "FROM node:24\nCOPY src/main.go nope.go /x/\n"), "SBX729 nope.go"},
		{"a file that the host makes", devcontainer.Memory{".devcontainer/Dockerfile": "FROM node:24\nCOPY tool.conf /x\nUSER 1\n",
			".devcontainer/devcontainer.json": `{"build": {"dockerfile": "Dockerfile"}, "initializeCommand": "cp ~/tool.conf .devcontainer"}`},
			`SBX408 "cp ~/tool.conf .devcontainer"`},
		{"files by a pattern", build("", "FROM node:24\nCOPY *.conf a.conf* /etc/\n"), ""},
		{"a file of a stage", build("", "FROM node:24 AS a\nFROM node:24\nCOPY --from=a /x /x\n"), ""},
		{"a document", build("", "FROM node:24\nCOPY <<EOF /x\na\nEOF\n"), ""},
		{"an argument behind its FROM", build("", "FROM node:$V\nARG V=24\n"), "SBX730 node:$V"},
		{"an argument of the builder", build("", "FROM --platform=$BUILDPLATFORM node:24\n"), ""},
		{"an argument with a default", build("", "FROM node:${V:-24}\n"), ""},
		{"an argument that ENV repeats", build("", "ARG V=1\nFROM node:24\nENV V=2\nRUN echo $V\n"), ""},
		{"an argument of a stage below", build("", "ARG V=1\nFROM node:24 AS a\nARG V\nFROM a\nRUN echo $V\n"), ""},
		{"an argument that a command sets", build("", "ARG V=1\nFROM node:24\nRUN V=2; echo $V\n"), ""},
	} {
		if got := marked(t, c.tree, false); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// A folder is missing for sure where an official image has none of its kind.
func TestMissingFoldersAreErrors(t *testing.T) {
	for folder, want := range map[string]diag.Severity{"/src": diag.SeverityError, "/home/node": diag.SeverityWarning, "/": ""} {
		var got diag.Severity
		for _, f := range judge(t,
			devcontainer.Memory{".devcontainer/devcontainer.json": `{"image": "node:24", "workspaceFolder": "` + folder + `"}`}) {
			if f.Rule == "SBX317" {
				got = f.Severity
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", folder, got, want)
		}
	}
}

// The mode of a script is known on a disk alone. Line ends are read anywhere.
func TestScriptsOnTheDisk(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no such mode")
	}
	for _, c := range []struct {
		name, command, script, want string
		mode                        os.FileMode
	}{
		{"not executable", "./setup.sh", "#!/bin/sh\n", "error: ./setup.sh is not executable", 0o644},
		{"executable", "./setup.sh", "#!/bin/sh\n", "", 0o755},
		{"made executable", "chmod +x setup.sh && ./setup.sh", "#!/bin/sh\n", "", 0o644},
		{"by a shell", "sh setup.sh", "#!/bin/sh\n", "", 0o644},
		{"lines of Windows", "./setup.sh", "#!/bin/sh\r\ntrue\r\n",
			"error: ./setup.sh has the line ends of Windows (CRLF), so its first line asks for \"/bin/sh\\r\"", 0o755},
		{"lines of Windows by a shell", "sh setup.sh", "#!/bin/sh\r\ntrue\r\n",
			"warning: setup.sh has the line ends of Windows (CRLF), which the shell takes for a part of its commands", 0o755},
	} {
		dir := t.TempDir()
		config := filepath.Join(dir, ".devcontainer.json")
		for name, text := range map[string]string{config: `{"image": "debian:13", "postCreateCommand": "` + c.command + `"}`,
			filepath.Join(dir, "setup.sh"): c.script} {
			if err := os.WriteFile(name, []byte(text), c.mode); err != nil {
				t.Fatal(err)
			}
		}
		script := func(p *devcontainer.Project) (got string) {
			for _, f := range lint.Check(p) {
				if f.Rule == "SBX318" {
					got = string(f.Severity) + ": " + f.Message
				}
			}
			return got
		}
		if err := devcontainer.Open(config, func(p *devcontainer.Project) error {
			for text, p := range map[string]*devcontainer.Project{"": p, " with another text": p.With(append(p.Config.Src, '\n'))} {
				if got := script(p); got != c.want {
					t.Errorf("%s%s: %q, want %q", c.name, text, got, c.want)
				}
			}
			return nil
		}); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// unlisted is a repository whose folders may be entered and not listed.
type unlisted struct{ devcontainer.Memory }

func (unlisted) List(string) []string { return nil }

// What lies beside a configuration is read also where nobody may list the folder.
func TestAFolderThatCannotBeListed(t *testing.T) {
	p, err := devcontainer.Load(
		unlisted{devcontainer.Memory{configPlace: `{"image": "a:1"}`, ".devcontainer/sandbox.jsonc": `{"netwrk": {}}`}},
		configPlace, configPlace)
	if err != nil || p.Settings == nil || len(p.Syntax) != 1 {
		t.Errorf("%v %+v", err, p)
	}
}
