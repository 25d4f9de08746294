package lint_test

import "testing"

// hooking is a configuration with hooks, and scripts that are not executable only where a disk says so.
func hooking(hooks string) string {
	return imaged("node:22", `,`+"\n"+hooks) + "\n-- apps/api/bin/boot.sh --\ntrue\n-- .devcontainer/post.sh --\nset -e\nmake build\n" +
		"-- package.json --\n{}\n" + packageLock + "-- Makefile --\nbuild:\n\ttrue\n"
}

const packageLock = "\n-- package-lock.json --\n" + `{"lockfileVersion": 3, "packages": {"": {}}}` + "\n"

// serving is a service of Compose with an image and what else it has.
func serving(image, more string) string {
	return "services:\n  app:\n    image: " + image + "\n    volumes: [\"..:/w\"]\n" + more
}

// withExtension is a configuration with an extension.
func withExtension(id string) string {
	return imaged("debian:13", `, "customizations": {"vscode": {"extensions": [`+"\n"+`"`+id+`"]}}`)
}

// writtenJudged are mistakes of two people who had not seen the rules, and what is near to them.
var writtenJudged = []pair{
	// Options of docker run.
	{"option by the name of another program", `error SBX321 "--mem=6g`, running(`"--mem=6g"`), running(`"--memory=6g"`)},
	{"option by a longer name", `error SBX321 "--memory-limit`, running(`"--memory-limit", "2g"`), running(`"--memory", "2g"`)},
	{"letter with two dashes", `error SBX321 "--v"`, running(`"--v", "a:/a"`), running(`"-v", "a:/a"`)},
	{"option that no engine has", `warning SBX321 "--foobar"`, running(`"--foobar"`), running(`"--http-proxy=false"`)},
	{"old name of Podman's", `SBX321`, "", running(`"--healthcheck-command=true"`)},
	{"letter that is no option", `error SBX321 "-x"`, running(`"-x"`), running(`"-it"`)},
	{"letter among others", `error SBX321 "-itz"`, running(`"-itz"`), running(`"-hz"`)},
	// Ports.
	{"name for the address of a port", `error SBX321 "localhost`, imaged("debian:13", `, "appPort": [`+"\n"+`"localhost:8080:80"]`),
		imaged("debian:13", `, "appPort": ["127.0.0.1:8080:80", "::1:8081:80"]`)},
	{"address with a number too high", `error SBX321 "-p"`, running(`"-p", "127.0.0.256:80:80"`), running(`"-p", "[::1]:80:80"`)},
	// The order of stages.
	{"stage below", `error SBX719 base`, "FROM base AS dev\nFROM debian:12 AS base\nFROM dev\n",
		"FROM debian:12 AS base\nFROM base AS dev\nFROM dev\n"},
	{"stage below, of any name", `warning SBX719 tooling`, "FROM tooling\nFROM debian:12 AS tooling\nFROM debian:13\nCOPY --from=0 /a /a\n",
		"FROM tooling AS base\nFROM base AS tooling\n"},
	{"image as which its own stage is called", `SBX719`, "", "FROM base AS base\n"},
	// What a service runs.
	{"shell of an image for dev containers", `warning SBX326 app:`,
		`{"dockerComposeFile": "compose.yaml",` + "\n" + `"service": ` + "\n" + `"app", "workspaceFolder": "/w"}` +
			"\n-- .devcontainer/compose.yaml --\n" + serving("mcr.microsoft.com/devcontainers/base:alpine-3.20", ""),
		serving("mcr.microsoft.com/devcontainers/base:alpine-3.20", "    command: sleep infinity\n")},
	{"shell besides official Features", `error SBX326 app:`,
		`{"dockerComposeFile": "compose.yaml", "features": {"ghcr.io/devcontainers/features/node:1": {}}, "workspaceFolder": "/w", "service":` +
			"\n" + `"app"}` + "\n-- .devcontainer/compose.yaml --\n" + serving("debian:13", ""),
		`{"dockerComposeFile": "compose.yaml", "features": {"ghcr.io/a/b/c:1": {}}, "workspaceFolder": "/w", "service":` +
			"\n" + `"app"}` + "\n-- .devcontainer/compose.yaml --\n" + serving("debian:13", "")},
	{"server of an image for dev containers", `SBX326`, "", serving("mcr.microsoft.com/devcontainers/php:8.3", "")},
	{"shell of php", `error SBX326 app:`,
		`{"dockerComposeFile": "compose.yaml", "workspaceFolder": "/w", "service":` + "\n" + `"app"}` +
			"\n-- .devcontainer/compose.yaml --\n" + serving("php:8.3-cli", ""), serving("php:8.3-fpm", "")},
	{"shell as the CMD of a Dockerfile", `error SBX326 app:`,
		`{"dockerComposeFile": "compose.yaml", "workspaceFolder": "/w", "service":` + "\n" + `"app"}` +
			"\n-- .devcontainer/compose.yaml --\nservices:\n  app:\n    build: .\n    volumes: [\"..:/w\"]\n" +
			"-- .devcontainer/Dockerfile --\nFROM debian:13\nCMD bash\n",
		"services:\n  app:\n    build: .\n    volumes: [\"..:/w\"]\n" +
			"-- .devcontainer/Dockerfile --\nFROM debian:13\nCMD bash -c 'sleep infinity'\n"},
	// Scripts of hooks.
	{"script missing behind an installation", `error SBX318 "./post.sh"`,
		hooking(`"onCreateCommand": "npm ci", "postCreateCommand":` + "\n" + `"./post.sh"`),
		hooking(`"onCreateCommand": "npm ci", "postCreateCommand": ".devcontainer/post.sh"`)},
	{"script that an installation may make", `SBX318`, "",
		imaged("debian:13", `, "onCreateCommand": "npm ci", "postCreateCommand": "./post.sh"`) +
			packageLock + "-- package.json --\n" + `{"scripts": {"prepare": "node make.js"}}`},
	{"script in no folder, beside another hook", `error SBX318 "cd apps`,
		hooking(`"postCreateCommand": {"a": "npm ci", "b":` + "\n" + `"cd apps/api && ./scripts/boot.sh"}`),
		hooking(`"postCreateCommand": {"a": "npm ci", "b": "cd apps/api && bin/boot.sh"}`)},
	{"script of a build, in no folder", `SBX318`, "", hooking(`"postCreateCommand": "./build/install.sh"`)},
	// Users.
	{"owner whom an image for dev containers lacks", `warning SBX754 chown`,
		"FROM mcr.microsoft.com/devcontainers/javascript-node:22\nRUN mkdir /a && chown -R vscode:vscode /a\n",
		"FROM mcr.microsoft.com/devcontainers/javascript-node:22\nRUN mkdir /a && chown -R node:node /a\n"},
	{"owner for install", `error SBX754 install`, "FROM debian:12\nRUN install -d -o vscode /a\n",
		"FROM debian:12\nRUN install -d -o nobody /a\n"},
	{"step of an unknown user", `error SBX754 `, "FROM debian:12\nRUN su vscode -c 'touch /tmp/a'\n",
		"FROM debian:12\nARG U=vscode\nRUN useradd -m $U && su $U -c 'touch /tmp/a'\n"},
	{"user of a Dockerfile on another image for dev containers", `error SBX703 "vscode"`,
		`{"build": {"dockerfile": "Dockerfile"}, "remoteUser":` + "\n" + `"vscode"}` +
			"\n-- .devcontainer/Dockerfile --\nFROM mcr.microsoft.com/devcontainers/typescript-node:22\n",
		`{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "node"}` +
			"\n-- .devcontainer/Dockerfile --\nFROM mcr.microsoft.com/devcontainers/typescript-node:22\n"},
	{"owner in a hook", `warning SBX703 "sudo`, imaged("mcr.microsoft.com/devcontainers/typescript-node:22",
		`, "postCreateCommand":`+"\n"+`"sudo chown -R vscode node_modules"`),
		imaged("mcr.microsoft.com/devcontainers/typescript-node:22", `, "postCreateCommand": "sudo chown -R node node_modules"`)},
	// Families of images.
	{"apt in a variant of Alpine", `error SBX749 apt-get`, "FROM oven/bun:1.1-alpine\nRUN apt-get update\n",
		"FROM oven/bun:1.1-debian\nRUN apt-get update\n"},
	{"apk in a variant of Debian", `error SBX749 apk`, "FROM a/b:1-bookworm\nRUN apk add git\n", "FROM a/b:1\nRUN apk add git\n"},
	// Ids of extensions.
	{"slash in an id", `warning SBX324 "ms-python/python`, withExtension("ms-python/python"), withExtension("ms-python.python")},
	{"page of an extension", `warning SBX324 "https`, withExtension("https://marketplace.example/items?itemName=a.b"),
		withExtension("./a/b.vsix")},
	{"archive by an id", `warning SBX324 "a.b.vsix`, withExtension("a.b.vsix"), withExtension("a.b.vsix") + "\n-- a.b.vsix --\nPK\n"},
}

func TestWrittenJudged(t *testing.T) { testPairs(t, writtenJudged) }
