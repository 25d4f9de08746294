package lint_test

import (
	"strings"
	"testing"
)

// coded is a configuration of an image with customizations of VS Code.
func coded(image, settings string) string {
	return imaged(image, `, "customizations": {"vscode": {"settings": {`+"\n"+settings+`}}}`)
}

func extending(id string) string {
	return imaged("debian:13", `, "customizations": {"vscode": {"extensions": [`+"\n"+`"`+id+`"]}}`)
}

func spaced(more string) string {
	return imaged("debian:13", `, "customizations": {"codespaces": {`+"\n"+more+`}}`)
}

// mounted is a configuration with one mount of its own, on a line of its own.
func mounted(mount string) string { return imaged("debian:13", `, "mounts": [`+"\n"+`"`+mount+`"]`) }

// running is a configuration with runArgs.
func running(args string) string { return imaged("debian:13", `, "runArgs": [`+"\n"+args+`]`) }

// optioned is a configuration with build.options.
func optioned(options string) string {
	return `{"build": {"dockerfile": "Dockerfile", "options": [` + "\n" + options + `]}}` +
		"\n-- .devcontainer/Dockerfile --\nFROM debian:13\n"
}

const (
	devBase = "mcr.microsoft.com/devcontainers/base:bookworm"
	devNode = "mcr.microsoft.com/devcontainers/javascript-node:22"
)

// writtenJSON are mistakes of devcontainer.json itself, written without a look at the rules.
var writtenJSON = []pair{
	// Names and values of editors.
	{"extension without the end of its name", `warning SBX324 "esbenp.prettier"`, extending("esbenp.prettier"),
		extending("esbenp.prettier-vscode")},
	{"extension that moved", `note SBX324 "ms-vscode.Go"`, extending("ms-vscode.Go"), extending("golang.Go")},
	{"extension that the editor does not need", `note SBX324 "coenraads`, extending("coenraads.bracket-pair-colorizer"),
		extending("-coenraads.rainbow")},
	{"newest version of an extension", `warning SBX324 "ms-python.python@latest"`, extending("ms-python.python@latest"),
		extending("ms-python.python@prerelease")},
	{"recommendations", `warning SBX324 "recommendations"`, imaged("debian:13",
		`, "customizations": {"vscode": {`+"\n"+`"recommendations": ["a.b"]}}`),
		imaged("debian:13", `, "customizations": {"vscode": {"extensions": ["a.b"]}}`)},
	{"extensions among settings", `warning SBX324 "extensions"`, coded("debian:13", `"extensions": ["a.b"]`),
		coded("debian:13", `"extensions.autoUpdate": true`)},
	{"setting that is gone", `note SBX324 "terminal.integrated.shell.linux"`, coded("debian:13",
		`"terminal.integrated.shell.linux": "/bin/bash"`),
		coded("debian:13", `"terminal.integrated.shell.linux": null`)},
	{"settings of a family that is gone", `note SBX324 "python.linting.enabled"`, coded("python:3.13", `"python.linting.enabled": true`),
		coded("python:3.13", `"python.testing.pytestEnabled": true`)},
	{"setting in small letters", `warning SBX324 "editor.formatonsave"`, coded("debian:13", `"editor.formatonsave": true`),
		coded("debian:13", `"editor.formatOnSave": true`)},
	{"text for a yes", `warning SBX324 "editor.formatOnSave"`, coded("debian:13", `"editor.formatOnSave": "true"`),
		coded("debian:13", `"editor.formatOnSave": false`)},
	{"text for a number", `warning SBX324 "editor.tabSize"`, coded("debian:13", `"editor.tabSize": "4"`), coded("debian:13",
		`"editor.tabSize": 4`)},
	{"name of a line end", `warning SBX324 "files.eol"`, coded("debian:13", `"files.eol": "LF"`), coded("debian:13", `"files.eol": "\n"`)},
	{"action on save", `warning SBX324 "source.fixAll"`, coded("debian:13", `"editor.codeActionsOnSave": {`+"\n"+`"source.fixAll": "on"}`),
		coded("debian:13", `"editor.codeActionsOnSave": {"source.fixAll": "explicit"}`)},
	{"formatter that nothing installs", `warning SBX324 "esbenp`, coded("node:24",
		`"editor.defaultFormatter": `+"\n"+`"esbenp.prettier-vscode"`),
		imaged("node:24", `, "customizations": {"vscode": {"extensions": ["esbenp.prettier-vscode"], "settings": {
"editor.defaultFormatter": "esbenp.prettier-vscode"}}}`)},
	{"formatter of a language that formats no more", `warning SBX324 "ms-python.python"`,
		coded("python:3.13", `"[python]": {"editor.defaultFormatter":`+"\n"+`"ms-python.python"}`),
		imaged("python:3.13", `, "customizations": {"vscode": {"extensions": ["charliermarsh.ruff"], "settings": {
"[python]": {"editor.defaultFormatter": "charliermarsh.ruff"}}}}`)},
	{"shell that the image lacks", `warning SBX324 "terminal`, coded("python:3.13", `"terminal.integrated.defaultProfile.linux": "zsh"`),
		coded(devBase, `"terminal.integrated.defaultProfile.linux": "zsh"`)},
	{"interpreter that the image lacks", `warning SBX324 "python`, coded("python:3.13",
		`"python.defaultInterpreterPath": "/opt/conda/bin/python"`),
		coded("python:3.13", `"python.defaultInterpreterPath": "/usr/local/bin/python"`)},
	{"permission of nothing", `warning SBX324 "content"`,
		spaced(`"repositories": {"o/r": {"permissions": {` + "\n" + `"content": "read"}}}`),
		spaced(`"repositories": {"o/r": {"permissions": {"contents": "read"}}}`)},
	{"permission to do both", `warning SBX324 "contents"`,
		spaced(`"repositories": {"o/r": {"permissions": {` + "\n" + `"contents": "readwrite"}}}`),
		spaced(`"repositories": {"o/*": {"permissions": "write-all"}}`)},
	{"repository without an owner", `warning SBX324 "r"`, spaced(`"repositories": {` + "\n" + `"r": {"permissions": {"contents": "read"}}}`),
		""},
	{"permissions without their name", `warning SBX324 "o/r"`, spaced(`"repositories": {` + "\n" + `"o/r": {"contents": "read"}}`), ""},
	{"file to open that is not there", `warning SBX324 "b.md"`, spaced(`"openFiles": [`+"\n"+`"b.md"]`) + "\n-- README.md --\n",
		spaced(`"openFiles": ["README.md"]`) + "\n-- README.md --\n"},
	{"file to open as a text", `warning SBX324 "README.md"`, spaced(`"openFiles":` + "\n" + `"README.md"`), ""},
	{"visibility of a port", `warning SBX324 "visibility"`, imaged("debian:13", `,
		"portsAttributes": {"3000": {`+"\n"+`"visibility": "public"}}`),
		imaged("debian:13", `, "portsAttributes": {"3000": {"label": "a"}}`)},
	{"name of an image for dev containers", `warning SBX322 "mcr`, "{\"image\":\n\"mcr.microsoft.com/devcontainers/node:22\"}",
		imaged("mcr.microsoft.com/devcontainers/typescript-node:22", "")},
	// Programs that images for dev containers lack.
	{"npm in the base image", `error SBX749 "npm`, imaged(devBase, `, "postCreateCommand": "npm install"`),
		imaged(devNode, `, "postCreateCommand": "npm install"`)},
	{"pip in the image for Node", `error SBX749 "pip`, imaged(devNode, `, "postCreateCommand": "pip install x"`),
		imaged("mcr.microsoft.com/devcontainers/python:3.13", `, "postCreateCommand": "pip install x"`)},
	{"program that a command brings", `error SBX749 "pre-commit`, imaged(devBase, `, "postCreateCommand": "pre-commit install"`),
		imaged("mcr.microsoft.com/devcontainers/python:3.13", `, "postCreateCommand": "pip install pre-commit && pre-commit install"`)},
	{"git lfs", `error SBX749 "git lfs`, imaged(devBase, `, "postCreateCommand": "git lfs pull"`),
		imaged(devBase, `, "features": {"ghcr.io/devcontainers/features/git-lfs:1": {}}, "postCreateCommand": "git lfs pull"`)},
	// Commands of hooks that mean something else.
	{"script of a shell in several words", `warning SBX314 "bash`, imaged("debian:13", `, "postCreateCommand": "bash -c ls -l"`),
		imaged("debian:13", `, "postCreateCommand": "bash -c 'ls -l'"`)},
	{"script in several words of an array", `warning SBX314 ["bash"`, imaged("debian:13", `, "postCreateCommand": ["bash", "-c", "ls",
		"-l"]`),
		imaged("debian:13", `, "postCreateCommand": ["bash", "-c", "ls -l $1", "bash", "/"]`)},
	{"home in an array", `warning SBX314 "~/`, imaged("debian:13", `, "postCreateCommand": ["cp", "a",`+"\n"+`"~/a"]`) + "\n-- a --\n",
		imaged("debian:13", `, "postCreateCommand": "cp a ~/a"`) + "\n-- a --\n"},
	{"commands at the same time", `warning SBX314 "build"`, imaged("node:24", `, "postCreateCommand": {"install": "npm install",`+"\n"+
		`"build": "npm run build"}`) + packageJSON, imaged("node:24", `, "postCreateCommand": {"install": "npm install", "pip": "npm -v"}`)},
	{"redirection by sudo", `error SBX751 "sudo echo`, imaged(devBase, `, "postCreateCommand": "sudo echo a > /etc/a"`),
		imaged(devBase, `, "postCreateCommand": "echo a | sudo tee /etc/a; sudo sh -c 'echo b > /etc/b'"`)},
	{"redirection by root", `SBX751`, "", imaged(devBase, `, "remoteUser": "root", "postCreateCommand": "echo a > /etc/a"`)},
	{"programs of corepack", `error SBX751 "corepack`, imaged("node:24", `, "remoteUser": "node", "postCreateCommand": "corepack enable"`),
		imaged("node:24", `, "postCreateCommand": "corepack enable"`)},
	{"packages without lists", `error SBX710 "apt-get`, imaged("debian:13", `, "postCreateCommand": "apt-get install -y jq"`),
		imaged("debian:13", `, "onCreateCommand": "apt-get update", "postCreateCommand": "apt-get install -y jq"`)},
	{"pip of the system", `error SBX752 "apt-get`,
		imaged("debian:13", `, "postCreateCommand": "apt-get update && apt-get install -y python3-pip && pip install x"`),
		imaged("debian:13", `, "postCreateCommand": "apt-get update && apt-get install -y python3-pip && `+
			`pip install --break-system-packages x"`)},
	{"systemctl", `warning SBX749 "sudo`, imaged(devBase, `, "postStartCommand": "sudo systemctl start ssh"`),
		imaged(devBase, `, "postStartCommand": "sudo service ssh start"`)},
	{"program in the home", `warning SBX749 "curl`, imaged("python:3.13",
		`, "postCreateCommand": "curl -LsSf https://astral.sh/uv/install.sh | sh && uv --version"`),
		imaged("python:3.13",
			`, "postCreateCommand": "curl -LsSf https://astral.sh/uv/install.sh | sh && PATH=~/.local/bin:$PATH uv --version"`)},
	{"packages of the host", `warning SBX734 "sudo`, imaged("debian:13", `, "initializeCommand": "sudo apt-get install -y jq"`),
		imaged("debian:13", `, "initializeCommand": "docker network inspect x"`)},
	{"variable at the end of a hook", `warning SBX734 "ls`, imaged("debian:13", `, "postCreateCommand": "ls && export A=1"`),
		imaged("debian:13", `, "postCreateCommand": "export A=1 && ls"`)},
	{"folder of the host", `warning SBX304 "sh`, imaged("debian:13", `, "postCreateCommand": "sh ${localWorkspaceFolder}/a.sh"`),
		imaged("debian:13", `, "postCreateCommand": "docker run -v ${localWorkspaceFolder}:/w x"`)},
	{"folder of the container", `warning SBX304 "sh`, imaged("debian:13", `, "initializeCommand": "sh ${containerWorkspaceFolder}/a.sh"`),
		imaged("debian:13", `, "initializeCommand": "sh ${localWorkspaceFolder}/a.sh"`)},
	{"project elsewhere", `error SBX318 "cd`, imaged("debian:13", `, "postCreateCommand": "cd /workspace && ls"`), imaged("debian:13",
		`, "workspaceFolder": "/workspace", "workspaceMount": "source=${localWorkspaceFolder},target=/workspace,type=bind",
"postCreateCommand": "cd /workspace && ls"`)},
	{"script of .devcontainer by its name", `error SBX318 "init.sh"`,
		imaged("debian:13", `, "postCreateCommand": "init.sh"`) + "\n-- .devcontainer/init.sh --\ntrue\n",
		imaged("debian:13", `, "postCreateCommand": "sh .devcontainer/init.sh"`) + "\n-- .devcontainer/init.sh --\ntrue\n"},
	{"extras of a project that is none", `error SBX318 "pip`, imaged("python:3.13", `,
		"postCreateCommand": "pip install -e .[dev]"`) + readme,
		imaged("python:3.13", `, "postCreateCommand": "pip install -e .[dev]"`) + pyproject},
	// Mounts.
	{"mode behind a target", `warning SBX310 "type=bind`, mounted("type=bind,source=/srv/a,target=/a:ro"),
		mounted("type=bind,source=/srv/a,target=/a,readonly")},
	{"path for a volume", `error SBX310 "type=volume`, mounted("type=volume,source=${localWorkspaceFolder}/a,target=/a"),
		mounted("type=volume,source=a,target=/a")},
	{"rw", `warning SBX310 "type=bind`, mounted("type=bind,source=/srv/a,target=/a,rw"),
		mounted("type=bind,source=/srv/a,target=/a,readonly=false")},
	{"dot for a source", `warning SBX310 "type=bind`, mounted("type=bind,source=.,target=/a"),
		mounted("type=bind,source=${localWorkspaceFolder},target=/a")},
	{"slash between homes", `warning SBX310 "type=bind`, mounted("type=bind,source=${localEnv:HOME}/${localEnv:USERPROFILE}/a,target=/a"),
		mounted("type=bind,source=${localEnv:HOME}${localEnv:USERPROFILE}/a,target=/a")},
	{"project twice", `warning SBX312 "type=bind`, mounted("type=bind,source=/srv/a,target=/workspaces/${localWorkspaceFolderBasename}"),
		mounted("type=bind,source=/srv/a,target=/workspaces/a")},
	{"folder of one person", `warning SBX335 "type=bind`, mounted("type=bind,source=/Users/anna/a,target=/a"),
		mounted("type=bind,source=/home/codespace/a,target=/a")},
	{"source that may be empty", `warning SBX335 "type=bind`, mounted("type=bind,source=${localEnv:A_SOCK},target=/a"),
		mounted("type=bind,source=${localEnv:A_SOCK:/dev/null},target=/a")},
	{"home of another", `warning SBX335 "type=bind`, imaged(devNode, `,
		"mounts": [`+"\n"+`"type=bind,source=/srv/a,target=/home/vscode/.a"]`),
		imaged(devNode, `, "mounts": ["type=bind,source=/srv/a,target=/home/node/.a"]`)},
	{"home of another that a hook uses", `SBX335`, "", imaged(devNode, `, "postCreateCommand": "cp -r /home/vscode/.a ~/.a",
"mounts": ["type=bind,source=/srv/a,target=/home/vscode/.a"]`)},
	{"folder of the editor's server", `warning SBX330 "type=volume`,
		imaged(devBase, `, "mounts": [`+"\n"+`"type=volume,source=a,target=/home/vscode/.vscode-server/extensions"]`),
		imaged(devBase, `, "remoteUser": "root", "mounts": ["type=volume,source=a,target=/root/.vscode-server/extensions"]`)},
	// Options of the engine, which a shell does not read.
	{"option without its value", `error SBX321 "--security-opt"`, running(`"--init",` + "\n" + `"--security-opt"`),
		running(`"--security-opt",
		"label=disable"`)},
	{"option without its value for a build", `error SBX321 "--add-host"`, optioned(`"--add-host"`), optioned(`"--add-host", "a:1.2.3.4"`)},
	{"option and value for a build", `error SBX321 "--add-host a`, optioned(`"--add-host a:1.2.3.4"`), optioned(`"--add-host=a:1.2.3.4"`)},
	{"quotes of a shell", `warning SBX321 "--hostname`, running(`"--hostname='a'"`), running(`"--gpus=\"device=0\""`)},
	{"rule for devices", `error SBX321 "--device-cgroup-rule`, running(`"--device-cgroup-rule=189:* rmw"`),
		running(`"--device-cgroup-rule=c 189:* rmw"`)},
	{"entrypoint", `warning SBX321 "--entrypoint`, running(`"--entrypoint=/a.sh"`), running(`"--init"`)},
	{"soft limit over the hard one", `error SBX321 "--ulimit`, running(`"--ulimit=nofile=2048:1024"`),
		running(`"--ulimit=nofile=1024:2048"`)},
	{"less with swap", `error SBX321 "--memory-swap`, running(`"--memory=4g",` + "\n" + `"--memory-swap=2g"`), running(`"--memory=4g",
		"--memory-swap=4096m"`)},
	{"two networks", `error SBX321 "--network=a"`, running(`"--network=host",` + "\n" + `"--network=a"`), running(`"--network=bridge",
		"--network=bridge"`)},
	{"user of a shell", `error SBX321 "--user"`, running(`"--user", "$(id -u)"`), running(`"--user", "1000"`)},
	{"gpu", `error SBX321 "--gpu=all"`, running(`"--gpu=all"`), running(`"--gpus=all"`)},
	{"path in a name", `error SBX321 "--name`, running(`"--name=a-${localWorkspaceFolder}"`),
		running(`"--name=a-${localWorkspaceFolderBasename}"`)},
	{"profile that is not there", `error SBX321 "seccomp`, imaged("debian:13", `, "securityOpt": [`+"\n"+`"seccomp=unconfigned"]`),
		imaged("debian:13", `, "securityOpt": ["seccomp=unconfined"]`)},
	// Variables.
	{"number of the user", `warning SBX304 "${localEnv:UID}"`, imaged("debian:13", `, "containerEnv": {"A":`+"\n"+`"${localEnv:UID}"}`),
		imaged("debian:13", `, "containerEnv": {"A": "${localEnv:UID:1000}"}`)},
	{"braces without a dollar", `warning SBX304 "{local`, imaged("debian:13", `, "containerEnv": {"A":`+"\n"+`"{localWorkspaceFolder}"}`),
		imaged("debian:13", `, "containerEnv": {"A": "{local}"}`)},
	{"default of a shell", `warning SBX305 "${localEnv:A:-b}"`, imaged("debian:13", `, "containerEnv": {"A":`+"\n"+`"${localEnv:A:-b}"}`),
		imaged("debian:13", `, "containerEnv": {"A": "${localEnv:A:b-c}"}`)},
	{"folder of the host in a variable", `warning SBX304 "${localEnv:HOME}/go"`, imaged("debian:13", `,
		"containerEnv": {"GOPATH":`+"\n"+`"${localEnv:HOME}/go"}`),
		imaged("debian:13", `, "containerEnv": {"LOCAL_WORKSPACE_FOLDER": "${localWorkspaceFolder}"}`)},
	{"variable of a shell for a build", `warning SBX320 "$USER"`,
		`{"build": {"dockerfile": "Dockerfile", "args": {"U":` + "\n" + `"$USER"}}}` +
			"\n-- .devcontainer/Dockerfile --\nFROM debian:13\nARG U\n", `{"build": {"dockerfile": "Dockerfile",
		"args": {"U": "${localEnv:USER}"}}}` +
			"\n-- .devcontainer/Dockerfile --\nFROM debian:13\nARG U\n"},
	{"name of whoever opens the project", `warning SBX703 "${localEnv:USER}"`, imaged("debian:13", `,
		"remoteUser":`+"\n"+`"${localEnv:USER}"`),
		imaged("debian:13", `, "remoteUser": "root"`)},
	// What a source, a hook or a value means where the author did not expect it.
	{"home in an object", `error SBX310 {`, imaged("debian:13", `, "mounts": [`+"\n"+
		`{"type": "bind", "source": "~/.zshrc", "target": "/a"}]`),
		imaged("debian:13", `, "mounts": [`+"\n"+`{"type": "bind", "source": "${localEnv:HOME}/.zshrc", "target": "/a"}]`)},
	{"home that nothing replaces gives nothing away", `SBX407`, "",
		imaged("debian:13", `, "mounts": [{"type": "bind", "source": "~/.zshrc", "target": "/a"}, "type=bind,source=~/.bashrc,target=/b"]`)},
	{"relative source in an object", `error SBX310 {`, imaged("debian:13", `, "mounts": [`+"\n"+
		`{"type": "bind", "source": "data", "target": "/a"}]`),
		imaged("debian:13", `, "mounts": [`+"\n"+`{"type": "volume", "source": "data", "target": "/a"}]`)},
	{"project twice by its variable", `warning SBX312 "type=volume`, mounted("type=volume,source=a,target=${containerWorkspaceFolder}"),
		mounted("type=volume,source=a,target=${containerWorkspaceFolder}/node_modules")},
	{"project by its variable beside no mount", `SBX312`, "", imaged("debian:13", `, "workspaceMount": "", "workspaceFolder": "/w",
"mounts": ["type=volume,source=a,target=${containerWorkspaceFolder}"]`)},
	{"project twice in its own folder", `warning SBX312 "type=volume`, imaged("debian:13", `, "workspaceFolder": "/w",
"workspaceMount": "source=${localWorkspaceFolder},target=/w,type=bind", "mounts": [`+"\n"+
		`"type=volume,source=a,target=${containerWorkspaceFolder}"]`), imaged("debian:13", `, "workspaceFolder": "/w/a",
"workspaceMount": "source=${localWorkspaceFolder},target=/w,type=bind", "mounts": [`+"\n"+
		`"type=volume,source=a,target=${containerWorkspaceFolder}"]`)},
	{"bytes for a memory", `error SBX321 "--memory=8"`, running(`"--memory=8"`), running(`"--memory=6m", "--memory-reservation=0"`)},
	{"shell for a shell", `error SBX318 "bash sh`, imaged("debian:13", `, "onCreateCommand": "bash .devcontainer/b.sh",
"postStartCommand":`+"\n"+`"bash sh .devcontainer/a.sh"`) + scripts,
		imaged("debian:13", `, "postStartCommand": "bash .devcontainer/a.sh", 
"postCreateCommand": "bash -c 'sh .devcontainer/b.sh'"`) + scripts},
	{"place of the container on the host", `warning SBX318 "pip`, imaged("python:3.13", `,
"initializeCommand": "pip install -r /workspaces/${localWorkspaceFolderBasename}/a.txt"`),
		imaged("python:3.13", `, "initializeCommand": "test -d /workspaces/a && ls /workspaces/a || true"`)},
	{"place of a project elsewhere", `warning SBX318 "bash /workspaces`, imaged("debian:13", elsewhere+
		`"postCreateCommand": "bash /workspaces/app/.devcontainer/a.sh"`) + scripts,
		imaged("debian:13", elsewhere+`"postCreateCommand": "bash /workspace/.devcontainer/a.sh"`) + scripts},
	{"place of a project elsewhere that a mount brings", `SBX318`, "", imaged("debian:13", elsewhere+
		`"mounts": ["type=bind,source=/srv/a,target=/workspaces/app"], "postCreateCommand": "bash /workspaces/app/a.sh"`)},
	{"installation into what is only read", `warning SBX318 "npm ci"`, imaged(devNode, strings.Replace(elsewhere, "bind", "bind,readonly", 1)+
		`"postCreateCommand":`+"\n"+`"npm ci"`) + locked, imaged(devNode, strings.Replace(elsewhere, "bind", "bind,readonly", 1)+
		`"postCreateCommand": "npm install -g a", "mounts": ["type=volume,source=a,target=/workspace/node_modules"],
"postStartCommand": "npm ci"`) + locked},
	{"script of bash for sh", `error SBX319 "sh .dev`, imaged("debian:bookworm", `, "postCreateCommand":`+"\n"+
		`"sh .devcontainer/a.sh"`) + scripts,
		imaged("debian:13", `, "postCreateCommand": "sh .devcontainer/a.sh"`) + scripts},
	{"script of bash for bash", `SBX319`, "", imaged("debian:bookworm", `, "postCreateCommand": "bash .devcontainer/a.sh"`) + scripts},
	{"script for sh that asks for pipefail", `SBX319`, "", imaged("debian:bookworm",
		`, "postCreateCommand": "sh .devcontainer/b.sh"`) + scripts},
	{"array in a script for sh", `warning SBX319 "sh .dev`, imaged("debian:13", `, "postCreateCommand":`+"\n"+
		`"sh .devcontainer/c.sh"`) + scripts,
		imaged("alpine:3.20", `, "postCreateCommand": "sh .devcontainer/c.sh"`) + scripts},
	{"version of the Feature for one of Node.js", `warning SBX325 "1.0.3"`, featured(`node": "1.0.3"`), featured(`node": "22"`)},
	{"version of Go without its 1", `warning SBX325 "24"`, featured(`go:1": {"version": "24"}`), featured(`go:1": {"version": "1.24"}`)},
	{"version of Python without its dot", `warning SBX325 "312"`, featured(`python:1": {"version": "312"}`),
		featured(`python:1": {"version": "3.12"}`)},
	{"list for an object", `warning SBX324 "remote.portsAttributes"`, coded("debian:13", `"remote.portsAttributes": [{"1": {}}]`),
		coded("debian:13", `"remote.portsAttributes": {"1": {"label": "a"}}`)},
	{"number for a list", `warning SBX324 "editor.rulers"`, coded("debian:13", `"editor.rulers": 80`), coded("debian:13",
		`"editor.rulers": [80]`)},
}

const (
	scripts = "\n-- .devcontainer/a.sh --\n#!/bin/bash\nset -euo pipefail\nls\n" +
		"-- .devcontainer/b.sh --\nif (set -o pipefail) 2>/dev/null; then\n  set -o pipefail\nfi\n" +
		"-- .devcontainer/c.sh --\na=(b c)\necho ${a[0]}\n"
	elsewhere = `, "workspaceFolder": "/workspace", "workspaceMount": "source=${localWorkspaceFolder},target=/workspace,type=bind",` + "\n"
	locked    = packageJSON + "-- package-lock.json --\n{}\n"
)

// featured is a configuration with one official Feature, from its name on.
func featured(feature string) string {
	return imaged("debian:13", `, "features": {"ghcr.io/devcontainers/features/`+strings.Replace(feature, " ", "\n", 1)+`}`)
}

func TestWrittenJSON(t *testing.T) { testPairs(t, writtenJSON) }
