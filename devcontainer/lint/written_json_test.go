package lint_test

import "testing"

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
	{"permission of nothing", `warning SBX324 "content"`, spaced(`"repositories": {"o/r": {"permissions": {` + "\n" + `"content": "read"}}}`),
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
	// Programs that images for dev containers lack.
	{"npm in the base image", `error SBX749 "npm`, imaged(devBase, `, "postCreateCommand": "npm install"`),
		imaged(devNode, `, "postCreateCommand": "npm install"`)},
	{"pip in the image for Node", `error SBX749 "pip`, imaged(devNode, `, "postCreateCommand": "pip install x"`),
		imaged("mcr.microsoft.com/devcontainers/python:3.13", `, "postCreateCommand": "pip install x"`)},
	{"program that a command brings", `error SBX749 "pre-commit`, imaged(devBase, `, "postCreateCommand": "pre-commit install"`),
		imaged("mcr.microsoft.com/devcontainers/python:3.13", `, "postCreateCommand": "pip install pre-commit && pre-commit install"`)},
	{"git lfs", `error SBX749 "git lfs`, imaged(devBase, `, "postCreateCommand": "git lfs pull"`),
		imaged(devBase, `, "features": {"ghcr.io/devcontainers/features/git-lfs:1": {}}, "postCreateCommand": "git lfs pull"`)},
}

func TestWrittenJSON(t *testing.T) { testPairs(t, writtenJSON) }
