package devcontainer

import (
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
)

// schemaRules are reported by the comparison with the property tables. Those
// of sandbox.jsonc come from package settings.
var schemaRules = []Rule{
	{ID: "SBX201", Name: "unknown-property", Severity: diag.SeverityError, Title: "unknown property",
		Reason: "The dev container tools ignore what they do not know. A slip in a name therefore switches off what the line was written for.",
		Bad:    "{\n  \"image\": \"debian:13\",\n  \"remoteuser\": \"dev\"\n}",
		Good:   "{\n  \"image\": \"debian:13\",\n  \"remoteUser\": \"dev\"\n}",
		check:  (*pass).schema},
	{ID: "SBX202", Name: "wrong-type", Severity: diag.SeverityError, Title: "wrong type",
		Reason: "The tools do not check types: a value of the wrong one is dropped, turned into text, or ends the start with an error that names no line.",
		Bad:    "{\n  \"image\": \"debian:13\",\n  \"capAdd\": \"NET_ADMIN\"\n}",
		Good:   "{\n  \"image\": \"debian:13\",\n  \"capAdd\": [\"NET_ADMIN\"]\n}"},
	{ID: "SBX203", Name: "value-not-accepted", Severity: diag.SeverityError, Title: "value not accepted",
		Reason: "The specification lists what this property may say; anything else is treated as if it were not there.",
		Bad:    "{\n  \"image\": \"debian:13\",\n  \"userEnvProbe\": \"login\"\n}",
		Good:   "{\n  \"image\": \"debian:13\",\n  \"userEnvProbe\": \"loginShell\"\n}"},
	{ID: "SBX204", Name: "required-property", Severity: diag.SeverityError, Title: "required property missing",
		Reason: "Without it the tools cannot start the container, or they guess.",
		Bad:    "{\n  \"dockerComposeFile\": \"compose.yaml\",\n  \"workspaceFolder\": \"/work\"\n}",
		Good:   "{\n  \"dockerComposeFile\": \"compose.yaml\",\n  \"service\": \"app\",\n  \"workspaceFolder\": \"/work\"\n}"},
	{ID: "SBX205", Name: "image-source", Severity: diag.SeverityError, Title: "no image source, or more than one",
		Reason: "A container is made from an image, from a Dockerfile or by Compose. Of two sources one is ignored in silence: a Dockerfile wins over an image.",
		Bad:    "{\n  \"name\": \"app\"\n}",
		Good:   "{\n  \"name\": \"app\",\n  \"image\": \"debian:13\"\n}"},
	{ID: "SBX206", Name: "no-effect", Severity: diag.SeverityError, Title: "property without effect in this kind of configuration",
		Reason: "The property is known and does nothing here, so what it asks for does not happen: with Compose, for example, runArgs are never used.",
		Bad:    "{\n  \"dockerComposeFile\": \"compose.yaml\",\n  \"service\": \"app\",\n  \"workspaceFolder\": \"/work\",\n  \"runArgs\": [\"--cap-drop=ALL\"]\n}",
		Good:   "{\n  \"dockerComposeFile\": \"compose.yaml\",\n  \"service\": \"app\",\n  \"workspaceFolder\": \"/work\"\n}"},
	{ID: "SBX207", Name: "legacy-property", Severity: diag.SeverityWarning, Title: "legacy property",
		Reason: "The property moved years ago. Some tools still read it at its old place and others do not; the schema refuses it.",
		Bad:    "{\n  \"image\": \"debian:13\",\n  \"extensions\": [\"golang.go\"]\n}",
		Good:   "{\n  \"image\": \"debian:13\",\n  \"customizations\": {\"vscode\": {\"extensions\": [\"golang.go\"]}}\n}"},
	{ID: "SBX208", Name: "outside-specification", Severity: diag.SeverityWarning, Title: "property outside the specification",
		Reason: "Only some tools know this property. With the others the container lacks what it says.",
		Bad:    "{\n  \"image\": \"debian:13\",\n  \"extends\": \"../base/devcontainer.json\"\n}",
		Good:   "{\n  \"image\": \"debian:13\"\n}"},
	{ID: "SBX210", Name: "network-entry", Severity: diag.SeverityError, Title: "network entry of sandbox.jsonc not accepted",
		Reason: "An entry that cannot be read as a host, a wildcard, an address or a network allows nothing, or not what was meant. The firewall refuses to start on it.",
		Bad:    sandboxExample(`{"network": {"allow": ["https://docs.example.com/guide"]}}`),
		Good:   sandboxExample(`{"network": {"allow": ["docs.example.com"]}}`)},
	{ID: "SBX211", Name: "list-file", Severity: diag.SeverityError, Title: "list file of sandbox.jsonc cannot be read",
		Reason: "A list that is not there would silently be an empty one.",
		Bad:    sandboxExample(`{"network": {"allow": ["@hosts.txt"]}}`),
		Good:   sandboxExample(`{"network": {"allow": ["@hosts.txt"]}}`) + "-- .devcontainer/hosts.txt --\ndocs.example.com\n"},
}

// sandboxExample is a sandbox that holds, with these settings.
func sandboxExample(settings string) string {
	return "-- .devcontainer/sandbox.jsonc --\n" + settings + "\n-- .devcontainer/devcontainer.json --\n" + soundSandbox
}

// soundSandbox is a configuration that keeps the sandbox's contract.
const soundSandbox = `{
  "image": "ghcr.io/org/claude-sandbox:1.0.0",
  "overrideCommand": false,
  "remoteUser": "agent",
  "capAdd": ["NET_ADMIN"],
  "securityOpt": ["no-new-privileges"],
  "mounts": [
    "type=bind,source=${localWorkspaceFolder}/.devcontainer,target=${containerWorkspaceFolder}/.devcontainer,readonly"
  ]
}
`

// sandboxWith is a sandbox with one thing changed.
func sandboxWith(old, replacement string) string {
	return strings.Replace(sandboxExample("{}"), old, replacement, 1)
}
