package lint_test

import "testing"

// withFeatures is a configuration with Features.
func withFeatures(features string) string {
	return imaged("debian:13", `, "features": {`+"\n"+features+"\n}")
}

// installing is a build for the user dev, whom nobody makes, with a step in front of another one.
func installing(step string) string {
	return `{"build": {"dockerfile": "Dockerfile"}, "remoteUser":` + "\n" + `"dev"}` +
		"\n-- .devcontainer/Dockerfile --\nFROM ubuntu:24.04\nRUN apt-get update && apt-get install -y curl git\nRUN " + step + "\n"
}

// withScript is a build with a script next to its Dockerfile.
func withScript(steps, script string) string {
	return `{"build": {"dockerfile": "Dockerfile"}}` + "\n-- .devcontainer/Dockerfile --\nFROM debian:12\n" + steps +
		"-- .devcontainer/b.sh --\n" + script + "\n"
}

// writtenSilent are mistakes of which the rules said nothing, or the wrong thing, and what is near to them.
var writtenSilent = []pair{
	// Names of Features without a registry: the reference CLI's own table.
	{"property among Features", `error SBX325 "overrideFeatureInstallOrder`, withFeatures(`"overrideFeatureInstallOrder": []`),
		withFeatures(`"node": {}`)},
	{"official Feature that has no short name", `error SBX325 "php"`, withFeatures(`"php": {}`), withFeatures(`"python": {}`)},
	{"short name with a version", `error SBX325 "node:1"`, withFeatures(`"node:1": {}`), withFeatures(`"golang": {}`)},
	{"name of nothing", `error SBX325 "mytool"`, withFeatures(`"mytool": {}`), withFeatures(`"${templateOption:tool}": {}`)},
	{"folder without ./", `error SBX325 "tool"`,
		withFeatures(`"tool": {}`) + "\n-- .devcontainer/tool/devcontainer-feature.json --\n" + `{"id": "tool", "version": "1.0.0"}`,
		withFeatures(`"maven": {}`)},
	{"order by a short name", `error SBX325 "maven"`, imaged("debian:13", `, "features": {"maven": {}}, "overrideFeatureInstallOrder": [`+
		"\n"+`"maven"]`), imaged("debian:13", `, "features": {"node": {}}, "overrideFeatureInstallOrder": ["node"]`)},
	{"name without a namespace", `error SBX325 "ghcr.io/node:1"`, withFeatures(`"ghcr.io/node:1": {}`),
		withFeatures(`"ghcr.io/a/node:1": {}`)},
	{"official name without a part", `error SBX325 "devcontainers/go:1"`, withFeatures(`"devcontainers/go:1": {}`),
		withFeatures(`"a/b/go": {}`)},
	{"name with a scheme", `error SBX325 "oci:`, withFeatures(`"oci://ghcr.io/a/b/c:1": {}`), withFeatures(`"ghcr.io/A/b-c/d.e_f:1": {}`)},
	{"version with a space", `error SBX325 "ghcr.io/a/b/c:1 "`, withFeatures(`"ghcr.io/a/b/c:1 ": {}`),
		withFeatures(`"ghcr.io/a/b/c:1-rc": {}`)},
	{"path from the root", `error SBX325 "/w/`, withFeatures(`"/w/tools/tool": {}`), withFeatures(`"localhost:5000/a/b": {}`)},
	{"official Feature in capitals", `SBX325`, "", withFeatures(`"ghcr.io/devcontainers/features/Node:1": {}`)},
	{"folder by a short name", `warning SBX325 "node"`,
		withFeatures(`"node": {}`) + "\n-- .devcontainer/node/devcontainer-feature.json --\n" + `{"id": "node", "version": "1.0.0"}`,
		withFeatures(`"./node": {}`) + "\n-- .devcontainer/node/devcontainer-feature.json --\n" + `{"id": "node", "version": "1.0.0"}` +
			"\n-- .devcontainer/node/install.sh --\ntrue\n"},
	// What is given to a Feature.
	{"list for a Feature", `warning SBX325 ["20"]`, withFeatures(`"ghcr.io/a/b/c:1":` + "\n" + `["20"]`),
		withFeatures(`"ghcr.io/a/b/c:1": "20"`)},
	{"false for a Feature", `warning SBX325 false`, withFeatures(`"ghcr.io/a/b/c:1":` + "\n" + `false`),
		withFeatures(`"ghcr.io/a/b/c:1": true`)},
	{"null for a Feature", `error SBX325 null`, withFeatures(`"ghcr.io/a/b/c:1":` + "\n" + `null`), withFeatures(`"ghcr.io/a/b/c:1": true`)},
	{"object for an option", `error SBX325 {`, withFeatures(`"ghcr.io/a/b/c:1": {"x":` + "\n" + `{"y": 1}}`),
		withFeatures(`"ghcr.io/a/b/c:1": {"x": ["y"], "z": 1}`)},
	// Collections of Features.
	{"official Feature without its registry", `warning SBX325 "devcontainers`, withFeatures(`"devcontainers/features/go:1": {}`),
		withFeatures(`"a/b/go": {}`)},
	{"Feature of another collection", `warning SBX325 "ghcr`, withFeatures(`"ghcr.io/devcontainers/features/deno:1": {}`),
		withFeatures(`"ghcr.io/devcontainers-extra/features/deno:1": {}`)},
	{"official Feature in another collection", `warning SBX325 "ghcr`,
		withFeatures(`"ghcr.io/devcontainers-extra/features/docker-in-docker:2": {}`),
		withFeatures(`"ghcr.io/devcontainers/features/docker-in-docker:2": {"moby": false}`)},
	// Properties in the wrong place.
	{"property among tools", `warning SBX324 "postCreateCommand`,
		imaged("debian:13", `, "customizations": {`+"\n"+`"postCreateCommand": "true"}`),
		imaged("debian:13", `, "customizations": {"name": {}, "build": {}}`)},
	{"property among those of VS Code", `warning SBX324 "forwardPorts`,
		imaged("debian:13", `, "customizations": {"vscode": {`+"\n"+`"forwardPorts": [1]}}`),
		imaged("debian:13", `, "customizations": {"vscode": {"mcp": {}}}`)},
	{"property among settings", `warning SBX324 "remoteUser`,
		imaged("debian:13", `, "customizations": {"vscode": {"settings": {`+"\n"+`"remoteUser": "x"}}}`),
		imaged("debian:13", `, "customizations": {"vscode": {"settings": {"name": "x"}}}`)},
	{"setting among tools", `warning SBX324 "editor`, imaged("debian:13", `, "customizations": {`+"\n"+`"editor.tabSize": 2}`),
		imaged("debian:13", `, "customizations": {"org.example": {}}`)},
	{"setting beside settings", `warning SBX324 "editor`, imaged("debian:13", `, "customizations": {"vscode": {`+"\n"+`"editor.tabSize": 2}}`),
		imaged("debian:13", `, "customizations": {"vscode": {"settings": {"editor.tabSize": 2}}}`)},
	{"list for VS Code", `warning SBX324 ["a.b"]`, imaged("debian:13", `, "customizations": {"vscode":`+"\n"+`["a.b"]}`),
		imaged("debian:13", `, "customizations": {"vscode": {}}`)},
	{"property among those of a port", `warning SBX324 "forwardPorts`,
		imaged("debian:13", `, "portsAttributes": {"80": {`+"\n"+`"forwardPorts": []}}`),
		imaged("debian:13", `, "portsAttributes": {"80": {"label": "x", "onAutoForward": "notify"}}`)},
	// Extensions.
	{"publisher of the editor's own", `warning SBX324 "vscode.cpptools`, withExtension("vscode.cpptools"), withExtension("vscode.git")},
	{"theme of the editor's own", `SBX324`, "", withExtension("-vscode.theme-red")},
	{"extension by the name of its repository", `warning SBX324 "ms-python.vscode`, withExtension("ms-python.vscode-python"),
		withExtension("ms-python.vscode-pylance")},
	// Users that an installer does not make.
	{"installer from standard input", `error SBX703 "dev"`, installing("curl -fsSL https://deb.nodesource.com/setup_22.x | bash -"),
		installing("curl -fsSL https://example.com/setup | bash - && useradd -m dev")},
	{"installer with arguments", `error SBX703 "dev"`, installing("curl -sSf https://sh.rustup.rs | sh -s -- -y"),
		installing("bash -c \"$(curl -fsSL https://raw.githubusercontent.com/microsoft/vscode-dev-containers/main/common-debian.sh)\"")},
	{"installer that is saved first", `error SBX703 "dev"`,
		installing("curl -fsSL https://get.docker.com -o /tmp/get.sh && sh /tmp/get.sh"),
		installing("curl -fsSL https://example.com/setup -o /tmp/get.sh && sh /tmp/get.sh")},
	{"installer of somebody", `warning SBX703 "dev"`, installing("curl -fsSL https://example.com/setup | bash -"),
		installing("cat /etc/setup | bash -")},
	{"user of another image besides official Features", `error SBX703 "vscode"`,

		imaged("mcr.microsoft.com/devcontainers/typescript-node:22", `, "features": {"ghcr.io/devcontainers/features/git-lfs:1": {}}, `+
			`"remoteUser":`+"\n"+`"vscode"`),
		imaged("mcr.microsoft.com/devcontainers/typescript-node:22", `, "features": {"ghcr.io/a/b/c:1": {}}, "remoteUser": "vscode"`)},
	// Stages.
	{"stage by another word", `warning SBX719 --from`, "FROM debian:13 AS deps\nFROM debian:13\nCOPY --from=dependencies /a /a\n",
		"FROM debian:13 AS deps\nFROM debian:13\nCOPY --from=nginx /a /a\nCOPY --from=deps /b /b\n"},
	{"stage without a name", `warning SBX719 --from`, "FROM debian:13\nFROM debian:12\nCOPY --from=builder /a /a\n",
		"FROM debian:13 AS one\nFROM debian:13\nCOPY --from=sources /a /a\nCOPY --from=one /b /b\n"},
	{"stage of FROM by another word", `warning SBX719 builder`, "FROM debian:13 AS deps\nFROM builder\nCOPY --from=deps /a /a\n",
		"FROM debian:13 AS deps\nFROM deps\n"},
	// Scripts of the context that a step calls.
	{"copied script that is given to bash", `warning SBX753 #!`, withScript("COPY b.sh /a/\nRUN bash /a/b.sh\n", "#!/bin/bash\r\ntrue\r"),
		withScript("COPY b.sh /a/\nRUN sed -i 's/\\r$//' /a/b.sh && bash /a/b.sh\n", "#!/bin/bash\r\ntrue\r")},
	{"copied script behind WORKDIR", `error SBX753 #!`, withScript("WORKDIR /w\nCOPY . .\nRUN ./b.sh\n", "#!/bin/bash\r\ntrue\r"),
		withScript("WORKDIR /w\nCOPY . .\nRUN chmod +x b.sh && ./b.sh\n", "#!/bin/sh\ntrue")},
	{"copied script behind cd", `error SBX753 #!`, withScript("COPY b.sh /w/\nRUN cd /w && ./b.sh\n", "#!/bin/bash\r\ntrue\r"),
		withScript("COPY b.sh /w/\nRUN cd /v && ./b.sh\n", "#!/bin/bash\r\ntrue\r")},
	{"copied script without its first line", `error SBX753 "/b.sh`, withScript("COPY b.sh /\nRUN chmod +x /b.sh\nRUN [\"/b.sh\"]\n", "true"),
		withScript("COPY b.sh /\nRUN chmod +x /b.sh\nRUN /b.sh\n", "true")},
	{"copied script that no shell reads", `error SBX753 if`, withScript("COPY b.sh /\nRUN sh /b.sh\n", "if true; then\n  true"),
		withScript("COPY b.sh /\nRUN sh /b.sh\n", "if true; then\n  true\nfi")},
	{"copied script of bash that sh is given", `warning SBX753 /b.sh`, withScript("COPY b.sh /\nRUN sh /b.sh\n", "source /etc/os-release"),
		withScript("COPY b.sh /\nRUN bash /b.sh\n", "source /etc/os-release; a=$((echo 1; echo ${b}) | tail -1)")},
	{"first process in a folder that a COPY brings", `error SBX753 #!`,
		ownCommand + "WORKDIR /w\nCOPY . .\nENTRYPOINT [\"/w/run.sh\"]\n-- .devcontainer/run.sh --\n#!/bin/sh\r\nexec sleep infinity\r\n",
		ownCommand + "WORKDIR /w\nCOPY . .\nRUN dos2unix run.sh\nENTRYPOINT [\"/w/run.sh\"]\n-- .devcontainer/run.sh --\n" +
			"#!/bin/sh\r\nexec sleep infinity\r\n"},
}

func TestWrittenSilent(t *testing.T) { testPairs(t, writtenSilent) }
