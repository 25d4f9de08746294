package lint_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
)

// leastFound is how many of the written mistakes must be found at the right place.
const leastFound = 380

// written is a mistake that somebody can make in an editor. Its files follow each other, each
// after a line "-- NAME --"; a text without such a line is a devcontainer.json. want is a rule,
// and what the first line of its finding's place begins with; rules may be several, with "|".
type written struct{ name, want, files string }

func (w written) tree() devcontainer.Memory {
	const config = ".devcontainer/devcontainer.json"
	tree := devcontainer.Memory{}
	name, text := config, w.files
	if strings.HasPrefix(text, "FROM ") || strings.HasPrefix(text, "ARG ") || strings.HasPrefix(text, "from ") {
		tree[config] = `{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "root"}`
		name = ".devcontainer/Dockerfile"
	} else if strings.HasPrefix(text, "services:") {
		tree[config] = `{"dockerComposeFile": "compose.yaml", "service": "app", "workspaceFolder": "/w"}`
		name = ".devcontainer/compose.yaml"
	}
	for {
		before, rest, more := strings.Cut(text, "-- ")
		tree[name] = before
		if !more {
			return tree
		}
		name, text, _ = strings.Cut(rest, " --\n")
	}
}

// Mistakes as people make them, most of which nothing says a word about until the container
// does not start, or does not do what was meant.
func TestWrittenMistakes(t *testing.T) {
	if len(writtenMistakes) < 150 {
		t.Errorf("%d mistakes, not 150", len(writtenMistakes))
	}
	found, names := 0, map[string]bool{}
	all := slices.Concat(writtenMistakes, writtenElsewhere, writtenUnseen, writtenReal, writtenBlind)
	for _, w := range all {
		if names[w.name] {
			t.Errorf("%s: there twice", w.name)
		}
		names[w.name] = true
		tree := w.tree()
		rules, place, _ := strings.Cut(w.want, " ")
		hit := false
		var said []string
		for _, f := range judge(t, tree) {
			lines := strings.Split(tree[f.File], "\n")
			if f.Line > len(lines) {
				t.Fatalf("%s: %+v", w.name, f)
			}
			at := lines[f.Line-1][min(f.Column-1, len(lines[f.Line-1])):]
			said = append(said, f.Rule+" "+at)
			hit = hit || strings.Contains("|"+rules+"|", "|"+f.Rule+"|") && strings.HasPrefix(at, place)
		}
		if hit {
			found++
		} else {
			t.Logf("not found: %s, want %s, got %q", w.name, w.want, said)
		}
	}
	t.Logf("%d of %d mistakes are found at the right place", found, len(all))
	if found < leastFound {
		t.Errorf("%d of %d mistakes are found at the right place, not %d", found, len(all), leastFound)
	}
}

const (
	service   = "services:\n  app:\n    image: debian:13\n    command: sleep infinity\n    volumes: [\"..:/w\"]\n"
	builtHere = `{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "root"}` + "\n-- .devcontainer/Dockerfile --\n"
)

var writtenMistakes = []written{
	// JSON.
	{"no comma", `SBX101 "init"`, "{\n\"image\": \"a:1\"\n\"init\": true}"},
	{"single quotes", `SBX101 'image'`, "{'image': \"a:1\"}"},
	{"name without quotes", `SBX101 image`, "{image: \"a:1\"}"},
	{"cut file", `SBX101 `, "{\"image\": \"a:1\", \"capAdd\": ["},
	{"two commas", `SBX101 ,`, "{\"image\": \"a:1\",, \"init\": true}"},
	{"hash comment", `SBX101 #`, "{\n# the image\n\"image\": \"a:1\"}"},
	{"Python's True", `SBX101 True`, "{\"image\": \"a:1\", \"init\": True}"},
	{"equals for a colon", `SBX101 =`, "{\"image\" = \"a:1\"}"},
	{"backslash of Windows", `SBX101 \U`, `{"image": "a:1", "workspaceFolder": "C:\Users"}`},
	{"tab in a text", "SBX106 ", "{\"image\": \"a:1\", \"name\": \"a\tb\"}"},
	{"two roots", `SBX101 {`, "{\"image\": \"a:1\"}\n{\"init\": true}"},
	{"empty file", `SBX105 `, " "},
	{"conflict left", `SBX903 <<<<<<<`, "{\n<<<<<<< HEAD\n\"image\": \"a:1\"\n=======\n\"image\": \"a:2\"\n>>>>>>> x\n}"},
	{"name twice", `SBX102 "init"`, `{"image": "a:1", "init": true, "init": false}`},
	{"bidi override in a hook", "SBX106 \u202e", "{\"image\": \"a:1\", \"postCreateCommand\": \"echo \u202ehi\"}"},
	// Names, types and values.
	{"name in small letters", `SBX201 "remoteuser"`, `{"image": "a:1", "remoteuser": "x"}`},
	{"name misspelt", `SBX201 "postCreateComand"`, `{"image": "a:1", "postCreateComand": "make"}`},
	{"name of Compose", `SBX201 "environment"`, `{"image": "a:1", "environment": {"A": "b"}}`},
	{"name in the wrong place", `SBX201 "dockerfile"`, `{"image": "a:1", "dockerfile": "Dockerfile"}`},
	{"extensions at the top", `SBX207 "extensions"`, `{"image": "a:1", "extensions": ["a.b"]}`},
	{"settings at the top", `SBX207 "settings"`, `{"image": "a:1", "settings": {}}`},
	{"text for a boolean", `SBX301 "false"`, `{"image": "a:1", "privileged": "false"}`},
	{"text for a list", `SBX202 "--init"`, `{"image": "a:1", "runArgs": "--init"}`},
	{"list for a text", `SBX202 ["make"]`, `{"image": "a:1", "remoteUser": ["make"]}`},
	{"number in containerEnv", `SBX202 1`, `{"image": "a:1", "containerEnv": {"A": 1}}`},
	{"null in containerEnv", `SBX303 null`, `{"image": "a:1", "containerEnv": {"A": null}}`},
	{"list for an object", `SBX202 [`, `{"image": "a:1", "features": ["ghcr.io/a/b/c:1"]}`},
	{"unknown word", `SBX203 "stop"`, `{"image": "a:1", "shutdownAction": "stop"}`},
	{"waitFor of no command", `SBX203 "postAttachCommand"`, `{"image": "a:1", "waitFor": "postAttachCommand"}`},
	{"size without a unit", `SBX203 "8 GB"`, `{"image": "a:1", "hostRequirements": {"memory": "8 GB"}}`},
	{"port out of range", `SBX203 70000`, `{"image": "a:1", "forwardPorts": [70000]}`},
	{"no source", `SBX205 {`, `{"name": "x", "remoteUser": "y"}`},
	{"two sources", `SBX205 `,
		`{"image": "a:1", "build": {"dockerfile": "Dockerfile"}}` + "\n-- .devcontainer/Dockerfile --\nFROM debian:13\n"},
	{"Compose without a service", `SBX204 {`,
		`{"dockerComposeFile": "compose.yaml", "workspaceFolder": "/w"}` + "\n-- .devcontainer/compose.yaml --\n" + service},
	{"runArgs with Compose", `SBX206 "runArgs"`,
		`{"dockerComposeFile": "compose.yaml", "service": "app", "workspaceFolder": "/w", "runArgs": ["--init"]}` +
			"\n-- .devcontainer/compose.yaml --\n" + service},
	{"secret's name with a dash", `SBX203 "my-key"`, `{"image": "a:1", "secrets": {"my-key": {}}}`},
	// Variables and paths.
	{"workspaceFolder alone", `SBX309|SBX317 `, `{"image": "a:1", "workspaceFolder": "/w"}`},
	{"workspaceMount alone", `SBX309 `, `{"image": "a:1", "workspaceMount": "source=${localWorkspaceFolder},target=/w,type=bind"}`},
	{"workspaceFolder elsewhere", `SBX309|SBX317 `,
		`{"image": "a:1", "workspaceFolder": "/x", "workspaceMount": "source=${localWorkspaceFolder},target=/w,type=bind"}`},
	{"relative workspaceFolder", `SBX309|SBX317 "w"`,
		`{"image": "a:1", "workspaceFolder": "w", "workspaceMount": "source=${localWorkspaceFolder},target=/w,type=bind"}`},
	{"unknown variable", `SBX304 "`, `{"image": "a:1", "mounts": ["type=bind,source=${workspace}/x,target=/x"]}`},
	{"variable misspelt", `SBX304 "`, `{"image": "a:1", "mounts": ["type=bind,source=${localWorkspaceFoldr}/x,target=/x"]}`},
	{"default with a colon", `SBX305 "`, `{"image": "a:1", "remoteEnv": {"U": "${localEnv:U:https://x}"}}`},
	{"variable without a name", `SBX306 "`, `{"image": "a:1", "remoteEnv": {"U": "${localEnv}"}}`},
	{"container's variable too early", `SBX308 "`, `{"image": "a:1", "containerEnv": {"P": "${containerEnv:PATH}:/x"}}`},
	{"shell's PATH in remoteEnv", `SBX320 "$PATH:/x"`, `{"image": "a:1", "remoteEnv": {"PATH": "$PATH:/x"}}`},
	{"shell's PATH in containerEnv", `SBX320 "$PATH:/x"`, `{"image": "a:1", "containerEnv": {"PATH": "$PATH:/x"}}`},
	{"shell's HOME in a mount", `SBX320 "`, `{"image": "a:1", "mounts": ["type=bind,source=$HOME/x,target=/x"]}`},
	// Mounts.
	{"mount without a target", `SBX310|SBX204 "`, `{"image": "a:1", "mounts": ["type=bind,source=/x"]}`},
	{"mount of an unknown type", `SBX310|SBX203 "`, `{"image": "a:1", "mounts": ["type=bnid,source=/x,target=/y"]}`},
	{"mount with a space", `SBX310 "`, `{"image": "a:1", "mounts": ["type=bind, source=/x, target=/y"]}`},
	{"mount in the form of -v", `SBX310 "`, `{"image": "a:1", "mounts": ["/x:/y"]}`},
	{"readonly in an object", `SBX302 "readonly"`,
		`{"image": "a:1", "mounts": [{"type": "bind", "source": "/x", "target": "/y", "readonly": true}]}`},
	{"one target twice", `SBX312 "`, `{"image": "a:1", "mounts": ["type=volume,source=a,target=/y", "type=volume,source=b,target=/y"]}`},
	{"path without a type", `SBX310|SBX321 "`, `{"image": "a:1", "mounts": ["source=/x,target=/y"]}`},
	{"relative target", `SBX310 "`, `{"image": "a:1", "mounts": ["type=volume,source=a,target=y"]}`},
	// Files.
	{"no Dockerfile", `SBX311 "Dockerfile"`, `{"build": {"dockerfile": "Dockerfile"}}`},
	{"Dockerfile in another folder", `SBX311 "Dockerfile"`,
		`{"build": {"dockerfile": "Dockerfile"}}` + "\n-- Dockerfile --\nFROM debian:13\n"},
	{"no context", `SBX311 "nowhere"`,
		`{"build": {"dockerfile": "Dockerfile", "context": "nowhere"}}` + "\n-- .devcontainer/Dockerfile --\nFROM debian:13\n"},
	{"no Compose file", `SBX311 "compose.yaml"`, `{"dockerComposeFile": "compose.yaml", "service": "app", "workspaceFolder": "/w"}`},
	{"folder twice in a path", `SBX311 "`, `{"dockerComposeFile": ".devcontainer/compose.yaml", "service": "app", "workspaceFolder": "/w"}` +
		"\n-- .devcontainer/compose.yaml --\n" + service},
	{"no local Feature", `SBX311 "./tool"`, `{"image": "a:1", "features": {"./tool": {}}}`},
	{"local Feature without a dot", `SBX325 "tool"`, `{"image": "a:1", "features": {"tool": {}}}` +
		"\n-- .devcontainer/tool/devcontainer-feature.json --\n{\"id\": \"tool\", \"version\": \"1.0.0\"}"},
	{"local Feature outside", `SBX311 "../tool"`, `{"image": "a:1", "features": {"../tool": {}}}` +
		"\n-- tool/devcontainer-feature.json --\n{\"id\": \"tool\", \"version\": \"1.0.0\"}"},
	{"no hook script", `SBX318 "`, `{"image": "a:1", "postCreateCommand": "bash .devcontainer/setup.sh"}`},
	{"hook script with CRLF", `SBX318 "`, `{"image": "a:1", "postCreateCommand": ".devcontainer/setup.sh"}` +
		"\n-- .devcontainer/setup.sh --\n#!/bin/bash\r\necho hi\r\n"},
	{"second configuration", `SBX315 {`, `{"image": "a:1"}` + "\n-- .devcontainer.json --\n{\"image\": \"a:1\"}"},
	// Hooks.
	{"array of command lines", `SBX314 [`, `{"image": "a:1", "postCreateCommand": ["mkdir -p x", "echo hi"]}`},
	{"array with a shell's operator", `SBX314 "&&"`, `{"image": "a:1", "postCreateCommand": ["npm", "ci", "&&", "npm", "test"]}`},
	{"one line in an array", `SBX314 [`, `{"image": "a:1", "postCreateCommand": ["npm ci"]}`},
	{"quote not closed", `SBX319 "`, `{"image": "a:1", "postCreateCommand": "echo 'hi"}`},
	{"& and ;", `SBX319 "`, `{"image": "a:1", "postStartCommand": "make run &; make x"}`},
	{"if without fi", `SBX319 "`, `{"image": "a:1", "postStartCommand": "if true; then make"}`},
	// Engine's options.
	{"option and value in one", `SBX321 "--network host"`, `{"image": "a:1", "runArgs": ["--network host"]}`},
	{"-p with a space", `SBX321 "-p 3000:3000"`, `{"image": "a:1", "runArgs": ["-p 3000:3000"]}`},
	{"option misspelt", `SBX321 "--cap-ad"`, `{"image": "a:1", "runArgs": ["--cap-ad", "NET_ADMIN"]}`},
	{"option misspelt with a value", `SBX321 "--hostnam=x"`, `{"image": "a:1", "runArgs": ["--hostnam=x"]}`},
	{"image in capitals", `SBX322 "Debian:13"`, `{"image": "Debian:13"}`},
	{"image as an address", `SBX322 "https://`, `{"image": "https://ghcr.io/a/b:1"}`},
	{"image with a space", `SBX322 "debian: 13"`, `{"image": "debian: 13"}`},
	{"tag twice", `SBX322 "debian:13:slim"`, `{"image": "debian:13:slim"}`},
	{"user of no image", `SBX703 "vscode"`, `{"image": "debian:13", "remoteUser": "vscode"}`},
	{"node's user elsewhere", `SBX703 "node"`, `{"image": "python:3.13", "remoteUser": "node"}`},
	// Editors and ports.
	{"pair of ports", `SBX323|SBX203 "3000:3000"`, `{"image": "a:1", "forwardPorts": ["3000:3000"]}`},
	{"extensions in customizations", `SBX324 "extensions"`, `{"image": "a:1", "customizations": {"extensions": ["a.b"]}}`},
	{"extension for extensions", `SBX324 "extension"`, `{"image": "a:1", "customizations": {"vscode": {"extension": ["a.b"]}}}`},
	{"extension without a publisher", `SBX324 "python"`, `{"image": "a:1", "customizations": {"vscode": {"extensions": ["python"]}}}`},
	{"vsCode", `SBX324 "vsCode"`, `{"image": "a:1", "customizations": {"vsCode": {"extensions": ["a.b"]}}}`},
	{"everywhere published", `SBX411 "`, `{"image": "a:1", "appPort": ["3000:3000"]}`},
	// Features.
	{"unknown option of a local Feature", `SBX325 "verison"`, `{"image": "a:1", "features": {"./tool": {"verison": "1"}}}` +
		"\n-- .devcontainer/tool/devcontainer-feature.json --\n" +
		`{"id": "tool", "version": "1.0.0", "options": {"version": {"type": "string", "default": "1"}}}`},
	{"order of an unknown Feature", `SBX325 "ghcr.io/a/b/d"`,
		`{"image": "a:1", "features": {"ghcr.io/a/b/c:1": {}}, "overrideFeatureInstallOrder": ["ghcr.io/a/b/d"]}`},
	{"docker twice", `SBX325 "ghcr.io`, `{"image": "a:1", "features": {"ghcr.io/devcontainers/features/docker-in-docker:2": {}, ` +
		`"ghcr.io/devcontainers/features/docker-outside-of-docker:1": {}}}`},
	{"Feature in the old way", `SBX604 "node"`, `{"image": "a:1", "features": {"node": "lts"}}`},
	{"Feature over http", `SBX604 "http://`, `{"image": "a:1", "features": {"http://x.example/f.tgz": {}}}`},
	{"lock of another Feature", `SBX605 "`, `{"image": "a:1", "features": {"ghcr.io/a/b/c:1": {}}}` +
		"\n-- .devcontainer/devcontainer-lock.json --\n" + `{"features": {"ghcr.io/a/b/d:1": {"version": "1.0.0", "resolved": "ghcr.io/a/b/d@` +
		anyDigest +
		`", "integrity": "` + anyDigest + `"}}}`},
	// The host.
	{"docker's socket", `SBX401 "source=`,
		`{"image": "a:1", "mounts": ["source=/var/run/docker.sock,target=/var/run/docker.sock,type=bind"]}`},
	{"privileged", `SBX402 true`, `{"image": "a:1", "privileged": true}`},
	{"privileged by an option", `SBX402 "--privileged"`, `{"image": "a:1", "runArgs": ["--privileged"]}`},
	{"all capabilities", `SBX403 "ALL"`, `{"image": "a:1", "capAdd": ["ALL"]}`},
	{"host's network", `SBX404 "--network=host"`, `{"image": "a:1", "runArgs": ["--network=host"]}`},
	{"host's processes", `SBX404 "--pid"`, `{"image": "a:1", "runArgs": ["--pid", "host"]}`},
	{"no seccomp", `SBX405 "seccomp=unconfined"`, `{"image": "a:1", "securityOpt": ["seccomp=unconfined"]}`},
	{"keys of the home folder", `SBX407 "source=`, `{"image": "a:1", "mounts": ["source=${localEnv:HOME}/.ssh,target=/k,type=bind"]}`},
	{"the whole host", `SBX407 "source=`, `{"image": "a:1", "mounts": ["source=/,target=/host,type=bind"]}`},
	{"a command on the host", `SBX408 "make`, `{"image": "a:1", "initializeCommand": "make prepare"}`},
	{"key in containerEnv", `SBX501 "ghp_`, `{"image": "a:1", "containerEnv": {"GITHUB_TOKEN": "ghp_0123456789abcdefghijABCDEFGHIJ012345"}}`},
	{"host's key in containerEnv", `SBX502 "${localEnv`, `{"image": "a:1", "containerEnv": {"API_KEY": "${localEnv:API_KEY}"}}`},
	{"password in containerEnv", `SBX501 "hunter2"`, `{"image": "a:1", "containerEnv": {"DB_PASSWORD": "hunter2"}}`},
	{"latest", `SBX602 "debian:latest"`, `{"image": "debian:latest"}`},
	{"no tag", `SBX602 "debian"`, `{"image": "debian"}`},
	{"download in a hook", `SBX608 "curl`, `{"image": "a:1", "postCreateCommand": "curl https://x.example/i | sh"}`},
	{"download in a hook by a file", `SBX608 "curl`, `{"image": "a:1", "postCreateCommand": "curl https://x.example/i > a.sh; bash a.sh"}`},
	// Compose.
	{"service misspelt", `SBX313 "ap"`, `{"dockerComposeFile": "compose.yaml", "service": "ap", "workspaceFolder": "/w"}` +
		"\n-- .devcontainer/compose.yaml --\n" + service},
	{"service that ends", `SBX326 `,
		"services:\n  app:\n    image: debian:13\n    command: echo hi\n    volumes: [\"..:/w\"]\n-- .devcontainer/devcontainer.json --\n" +
			`{"dockerComposeFile": "compose.yaml", "service": "app", "workspaceFolder": "/w", "overrideCommand": false}`},
	{"workspace not mounted", `SBX317 `, "services:\n  app:\n    image: debian:13\n    command: sleep infinity\n"},
	{"service without a source", `SBX316 app`, "services:\n  app:\n    command: sleep infinity\n    volumes: [\"..:/w\"]\n"},
	{"unknown key of Compose", `SBX316 imge`, "services:\n  app:\n    imge: debian:13\n    volumes: [\"..:/w\"]\n"},
	{"tab in YAML", `SBX316|SBX101 `, "services:\n  app:\n\timage: debian:13\n"},
	{"needs an unknown service", `SBX316 `, "services:\n  app:\n    image: debian:13\n    volumes: [\"..:/w\"]\n    depends_on: [db]\n"},
	{"privileged in Compose", `SBX402 `, "services:\n  app:\n    image: debian:13\n    privileged: true\n    volumes: [\"..:/w\"]\n"},
	{"socket in Compose", `SBX401 `, "services:\n  app:\n    image: debian:13\n    volumes: [\"..:/w\", \"/var/run/docker.sock:/s\"]\n"},
	{"image without a tag in Compose", `SBX602 `, "services:\n  app:\n    image: debian\n    volumes: [\"..:/w\"]\n"},
	// Dockerfile.
	{"instruction misspelt", `SBX715 RNU`, "FROM debian:13\nRNU make\n"},
	{"no FROM", `SBX715 RUN`, builtHere + "RUN make\n"},
	{"file that is not there", `SBX729 setup.sh`, "FROM debian:13\nCOPY setup.sh /\n"},
	{"file outside of the context", `SBX729 ../setup.sh`, "FROM debian:13\nCOPY ../setup.sh /\n"},
	{"stage that is not there", `SBX719|SBX712 `, "FROM debian:13 AS build\nFROM debian:13\nCOPY --from=biuld /x /x\n"},
	{"target that is not there", `SBX712 "dev"`,
		`{"build": {"dockerfile": "Dockerfile", "target": "dev"}}` + "\n-- .devcontainer/Dockerfile --\nFROM debian:13 AS base\n"},
	{"argument that nothing takes", `SBX713 "VARIENT"`,
		`{"build": {"dockerfile": "Dockerfile", "args": {"VARIENT": "x"}}, "remoteUser": "root"}` +
			"\n-- .devcontainer/Dockerfile --\nARG VARIANT=13\nFROM debian:${VARIANT}\n"},
	{"argument before FROM", `SBX730 `, "ARG V=1\nFROM debian:13\nRUN echo ${V}\n"},
	{"argument after its FROM", `SBX730|SBX741|SBX746|SBX715 `, "FROM debian:${V}\nARG V=13\n"},
	{"CMD in single quotes", `SBX731 `, "FROM debian:13\nCMD ['sleep', 'infinity']\n"},
	{"two stages of one name", `SBX732 `, "FROM debian:13 AS a\nFROM debian:12 AS a\n"},
	{"cd that is lost", `SBX734 `, "FROM debian:13\nRUN cd /src\nRUN make\n"},
	{"export that is lost", `SBX734 `, "FROM debian:13\nRUN export A=b\nRUN make\n"},
	{"sudo in a plain image", `SBX735 sudo`, "FROM debian:13\nRUN sudo apt-get update\n"},
	{"relative WORKDIR", `SBX733 `, "FROM debian:13\nWORKDIR app\n"},
	{"two CMDs", `SBX737 `, "FROM debian:13\nCMD [\"a\"]\nCMD [\"b\"]\n"},
	{"ENV of itself", `SBX739 `, "FROM debian:13\nENV A=/x B=$A/y\n"},
	{"install that asks", `SBX724 apt-get`, "FROM debian:13\nRUN apt-get update && apt-get install curl\n"},
	{"update alone", `SBX710 apt-get`, "FROM debian:13\nRUN apt-get update\nRUN apt-get install -y curl\n"},
	{"latest in FROM", `SBX726 `, "FROM debian:latest\nRUN make\n"},
	{"download run", `SBX705 curl`, "FROM debian:13\nRUN curl https://x.example/i | sh\n"},
	{"download saved and run", `SBX705 curl`, "FROM debian:13\nRUN curl -o i https://x.example/i && sh i\n"},
	{"password in ENV", `SBX706 DB_PASSWORD`, "FROM debian:13\nENV DB_PASSWORD=hunter2\n"},
	{"token as ARG", `SBX706 NPM_TOKEN`, "FROM debian:13\nARG NPM_TOKEN\nRUN npm ci\n"},
	{"key copied", `SBX714 id_rsa`, "FROM debian:13\nCOPY id_rsa /root/.ssh/\n-- .devcontainer/id_rsa --\nx\n"},
	{"chmod 777", `SBX717 `, "FROM debian:13\nRUN chmod -R 777 /opt\n"},
	{"user that nothing makes", `SBX703 `, "FROM debian:13\nUSER dev\n"},
	{"sudo without a password", `SBX704 `, "FROM debian:13\nRUN echo 'dev ALL=(ALL) NOPASSWD:ALL' > /etc/sudoers.d/dev\n"},
	{"ADD of an address", `SBX709 https`, "FROM debian:13\nADD https://x.example/a.sh /a.sh\n"},
	{"several files to a file", `SBX736 `, "FROM debian:13\nCOPY a b /dest\n-- .devcontainer/a --\n-- .devcontainer/b --\n"},
	{"no certificate check", `SBX720 `, "FROM debian:13\nRUN curl -k https://x.example/a -o /a\n"},
	// Templates and Features.
	{"option that is not declared", `SBX906 `, `{"image": "a:${templateOption:varient}"}` + "\n-- devcontainer-template.json --\n" +
		`{"id": "t", "version": "1.0.0", "name": "t", "options": {"variant": {"type": "string", "default": "1"}}}`},
}
