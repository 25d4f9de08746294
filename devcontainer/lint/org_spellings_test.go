package lint_test

import (
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/org"
)

// A policy means what it says however a configuration is written: each line is
// another way to have what the policy refuses, or something near to it.
func TestPolicyThroughEverySpelling(t *testing.T) {
	const (
		registries = `{"registries": {"allow": ["ghcr.io/acme"]}}`
		netRaw     = `{"capabilities": {"forbid": ["NET_RAW"]}}`
		docker     = `{"features": {"forbid": ["docker-in-docker"]}}`
		extension  = `{"extensions": {"forbid": ["evil.*"]}}`
		required   = `{"extensions": {"require": ["acme.lint"]}}`
		privileged = `{"properties": {"forbid": ["privileged"]}}`
		mounts     = `{"mounts": {"allow": ["~/.cache"]}}`
		file       = ".devcontainer/Dockerfile"
		compose    = ".devcontainer/c.yml"
		feature    = ".devcontainer/f/devcontainer-feature.json"
		nested     = ".devcontainer/g/devcontainer-feature.json"
		built      = `{"build": {"dockerfile": "Dockerfile"}}`
		composed   = `{"dockerComposeFile": "c.yml", "service": "s", "workspaceFolder": "/"}`
		sound      = "FROM ghcr.io/acme/a:1\n"
	)
	local := image(`"features": {"./f": {}}`)
	for _, c := range []struct {
		name, policy, src, want string
		tree                    devcontainer.Memory
	}{
		{"image by a variable's default", registries, `{"image": "${localEnv:IMAGE:ghcr.io/acme/a}"}`, "SBX606", nil},
		{"image that wins over Compose", registries, `{"image": "evil/x", "dockerComposeFile": "c.yml", "service": "s", "workspaceFolder": "/"}`,
			"SBX606", devcontainer.Memory{compose: "services: {s: {image: ghcr.io/acme/a}}\n"}},
		{"image that a Dockerfile wins over", registries, `{"image": "evil/x", "build": {"dockerfile": "Dockerfile"}}`, "",
			devcontainer.Memory{file: sound}},
		{"image that a build of Compose makes", registries, composed, "",
			devcontainer.Memory{compose: "services: {s: {image: evil/x, build: .}}\n", file: sound}},
		{"FROM", registries, built, "SBX606", devcontainer.Memory{file: "FROM debian:13\n"}},
		{"FROM that is allowed", registries, built, "", devcontainer.Memory{file: sound}},
		{"FROM of a stage that is copied from", registries, built, "SBX606",
			devcontainer.Memory{file: "FROM evil/x AS a\n" + sound + "COPY --from=a /x /x\n"}},
		{"FROM by an argument", registries, built, "SBX606", devcontainer.Memory{file: "ARG B=evil/x\nFROM $B\n"}},
		{"FROM by an argument of the build", registries, `{"build": {"dockerfile": "Dockerfile", "args": {"B": "evil/x"}}}`, "SBX606",
			devcontainer.Memory{file: "ARG B=ghcr.io/acme/a\nFROM $B\n"}},
		{"FROM by an argument of the host", registries, `{"build": {"dockerfile": "Dockerfile", "args": {"B": "${localEnv:B}"}}}`, "SBX606",
			devcontainer.Memory{file: "ARG B=ghcr.io/acme/a\nFROM $B\n"}},
		{"COPY --from", registries, built, "SBX606", devcontainer.Memory{file: sound + "COPY --from=docker.io/evil/x /x /x\n"}},
		{"COPY --from by a short name", registries, built, "SBX606", devcontainer.Memory{file: sound + "COPY --from=busybox /x /x\n"}},
		{"COPY --from a context", registries, `{"build": {"dockerfile": "Dockerfile", "options": ["--build-context=src=.."]}}`, "",
			devcontainer.Memory{file: sound + "COPY --from=src /x /x\n"}},
		{"a context that is an image", registries,
			`{"build": {"dockerfile": "Dockerfile", "options": ["--build-context=src=docker-image://evil/x"]}}`, "SBX606",
			devcontainer.Memory{file: sound}},
		{"RUN --mount=from", registries, built, "SBX606", devcontainer.Memory{file: sound + "RUN --mount=type=bind,from=evil/x,target=/x id\n"}},
		{"reader of the Dockerfile", registries, built, "SBX606", devcontainer.Memory{file: "# syntax=docker/dockerfile:1\n" + sound}},
		{"reader by an argument", registries, `{"build": {"dockerfile": "Dockerfile", "args": {"BUILDKIT_SYNTAX": "docker/dockerfile:1"}}}`,
			"SBX606", devcontainer.Memory{file: sound}},
		{"a cache by an option", registries, `{"build": {"dockerfile": "Dockerfile", "options": ["--cache-from", "evil/cache"]}}`, "SBX606",
			devcontainer.Memory{file: sound}},
		{"cache", registries, `{"build": {"dockerfile": "Dockerfile", "cacheFrom": "evil/cache"}}`, "SBX606", devcontainer.Memory{file: sound}},
		{"cache in long form", registries, `{"build": {"dockerfile": "Dockerfile", "cacheFrom": ["type=registry,ref=evil/cache"]}}`, "SBX606",
			devcontainer.Memory{file: sound}},
		{"cache in a folder", registries, `{"build": {"dockerfile": "Dockerfile", "cacheFrom": ["type=local,src=cache"]}}`, "",
			devcontainer.Memory{file: sound}},
		{"image of Compose", registries, composed, "SBX606", devcontainer.Memory{compose: "services: {s: {image: evil/x}}\n"}},
		{"image of a service beside", registries, composed, "SBX606",
			devcontainer.Memory{compose: "services: {s: {image: ghcr.io/acme/a}, db: {image: postgres:17}}\n"}},
		{"Dockerfile of the service", registries, composed, "SBX606",
			devcontainer.Memory{compose: "services: {s: {build: .}}\n", file: "FROM debian:13\n"}},
		{"Dockerfile of a service beside", registries, composed, "SBX606",
			devcontainer.Memory{compose: "services: {s: {image: ghcr.io/acme/a}, db: {build: db}}\n",
				".devcontainer/db/Dockerfile": "FROM debian:13\n"}},
		{"Dockerfile in the Compose file", registries, composed, "SBX606",
			devcontainer.Memory{compose: "services:\n  s:\n    build:\n      dockerfile_inline: |\n        FROM evil/x\n"}},
		{"image by a context of Compose", registries, composed, "SBX606",
			devcontainer.Memory{compose: "services: {s: {build: {context: ., additional_contexts: {src: 'docker-image://evil/x'}}}}\n",
				file: sound}},
		{"image by a variable in Compose", registries, composed, "SBX606", devcontainer.Memory{compose: "services: {s: {image: '${IMAGE}'}}\n"}},
		{"image by an included file", registries, composed, "SBX606",
			devcontainer.Memory{compose: "include: [more.yml]\nservices: {s: {image: ghcr.io/acme/a}}\n",
				".devcontainer/more.yml": "services: {x: {image: evil/x}}\n"}},
		{"an included file from elsewhere", registries, composed, "SBX606",
			devcontainer.Memory{compose: "include: ['oci://docker.io/evil/x:1']\nservices: {s: {image: ghcr.io/acme/a}}\n"}},
		{"an included file from where it may be", registries, composed, "",
			devcontainer.Memory{compose: "include: ['oci://ghcr.io/acme/infra:1']\nservices: {s: {image: ghcr.io/acme/a}}\n"}},
		{"a context from git", `{"registries": {"forbid": ["github.com/evil"]}}`, composed, "SBX606",
			devcontainer.Memory{compose: "services: {s: {build: 'git@github.com:evil/x.git#main'}}\n"}},
		{"tarball of a Feature", registries, `{"image": "ghcr.io/acme/a", "features": {"https://evil.example/devcontainer-feature-go.tgz": {}}}`,
			"SBX606", nil},
		{"Feature by its old name", registries, `{"image": "ghcr.io/acme/a", "features": {"go": {}}}`, "SBX606", nil},
		{"Feature of a release", `{"registries": {"forbid": ["github.com/evil"]}}`, image(`"features": {"evil/repo/go": {}}`), "SBX606", nil},
		{"Feature that a local one depends on", registries, `{"image": "ghcr.io/acme/a", "features": {"./f": {}}}`, "SBX606",
			devcontainer.Memory{feature: `{"id": "f", "dependsOn": {"ghcr.io/evil/x/y": {}}}`}},

		{"Feature that one depends on that a local one depends on", registries, `{"image": "ghcr.io/acme/a", "features": {"./f": {}}}`, "SBX606",
			devcontainer.Memory{feature: `{"id": "f", "dependsOn": {"./g": {}}}`, nested: `{"id": "g", "dependsOn": {"ghcr.io/evil/x/y": {}}}`}},

		{"capAdd", netRaw, image(`"capAdd": ["CAP_NET_RAW"]`), "SBX414", nil},
		{"all capabilities", netRaw, image(`"capAdd": ["all"]`), "SBX414", nil},
		{"cap-add of all", netRaw, image(`"runArgs": ["--cap-add=ALL"]`), "SBX414", nil},
		{"privileged", netRaw, image(`"privileged": true`), "SBX414", nil},
		{"privileged by runArgs", netRaw, image(`"runArgs": ["--privileged"]`), "SBX414", nil},
		{"privileged by runArgs, off", netRaw, image(`"runArgs": ["--privileged=false"]`), "", nil},
		{"privileged service", netRaw, composed, "SBX414", devcontainer.Memory{compose: "services: {s: {image: a, privileged: true}}\n"}},
		{"capability of a local Feature", netRaw, local, "SBX414", devcontainer.Memory{feature: `{"id": "f", "capAdd": ["net_raw"]}`}},
		{"local Feature that is privileged", netRaw, local, "SBX414", devcontainer.Memory{feature: `{"id": "f", "privileged": true}`}},
		{"Feature that is known to be privileged", netRaw, image(`"features": {"ghcr.io/devcontainers/features/docker-in-docker:2": {}}`),
			"SBX414", nil},
		{"capability of our Feature", `{"capabilities": {"forbid": ["NET_ADMIN"]}}`,
			image(`"features": {"ghcr.io/org/claude-sandbox/features/firewall:0": {}}`), "SBX414", nil},
		{"another capability", netRaw, image(`"capAdd": ["NET_RAWX"]`), "", nil},

		{"Feature as a tarball", docker, image(`"features": {"https://x.example/devcontainer-feature-docker-in-docker.tgz": {}}`), "SBX611", nil},
		{"Feature by an old name", docker, image(`"features": {"docker-in-docker": "latest"}`), "SBX611", nil},
		{"Feature in capitals", docker, image(`"features": {"ghcr.io/DevContainers/Features/Docker-in-Docker": {}}`), "SBX611", nil},
		{"Feature in a folder", docker, image(`"features": {"./docker-in-docker": {}}`), "SBX611", nil},
		{"Feature in a folder of another name", docker, local, "SBX611", devcontainer.Memory{feature: `{"id": "docker-in-docker"}`}},
		{"Feature that a local one depends on, by id", docker, local, "SBX611",
			devcontainer.Memory{feature: `{"id": "f", "dependsOn": {"ghcr.io/devcontainers/features/docker-in-docker:2": {}}}`}},
		{"Feature that one depends on that a local one depends on", docker, local, "SBX611",
			devcontainer.Memory{feature: `{"id": "f", "dependsOn": {"./g": {}}}`,
				nested: `{"id": "g", "dependsOn": {"ghcr.io/devcontainers/features/docker-in-docker:2": {}}}`}},
		{"id of a Feature that a local one depends on", docker, local, "SBX611",
			devcontainer.Memory{feature: `{"id": "f", "dependsOn": {"./g": {}}}`, nested: `{"id": "docker-in-docker"}`}},
		{"Feature of a name near to it", docker, image(`"features": {"ghcr.io/a/b/docker-in-docker-lint:1": {}}`), "", nil},

		{"extension", extension, image(`"customizations": {"vscode": {"extensions": ["Evil.x@1.0"]}}`), "SBX607", nil},
		{"extension where it stood once", extension, `{"image": "a:1", "extensions": ["evil.x"]}`, "SBX607", nil},
		{"extension of another tool", extension, image(`"customizations": {"codespaces": {"extensions": ["evil.x"]}}`), "SBX607", nil},
		{"extension of a local Feature", extension, local, "SBX607",
			devcontainer.Memory{feature: `{"id": "f", "customizations": {"vscode": {"extensions": ["evil.x"]}}}`}},
		{"extension that is taken out", extension, image(`"customizations": {"vscode": {"extensions": ["-evil.x"]}}`), "", nil},
		{"required", required, image(`"customizations": {"vscode": {"extensions": ["acme.Lint@2.0"]}}`), "", nil},
		{"required, and taken out again", required, image(`"customizations": {"vscode": {"extensions": ["acme.lint", "-acme.lint"]}}`),
			"SBX607", nil},
		{"required, and taken out only", required, image(`"customizations": {"vscode": {"extensions": ["-acme.lint"]}}`), "SBX607", nil},

		{"property by runArgs", privileged, image(`"runArgs": ["--privileged"]`), "SBX416", nil},
		{"property by Compose", privileged, composed, "SBX416", devcontainer.Memory{compose: "services: {s: {image: a, privileged: yes}}\n"}},
		{"property by Compose, off", privileged, composed, "", devcontainer.Memory{compose: "services: {s: {image: a, privileged: false}}\n"}},
		{"property by a Feature", privileged, local, "SBX416", devcontainer.Memory{feature: `{"id": "f", "privileged": true}`}},
		{"property by a Feature that a local one depends on", `{"properties": {"forbid": ["customizations"]}}`, local, "SBX416",
			devcontainer.Memory{feature: `{"id": "f", "dependsOn": {"./g": {}}}`, nested: `{"id": "g", "customizations": {"vscode": {}}}`}},
		{"property by a label", privileged, image(`"runArgs": ["--label", "devcontainer.metadata={\"privileged\": true}"]`), "SBX416", nil},
		{"property by a label, off", privileged, image(`"runArgs": ["--label", "devcontainer.metadata={\"privileged\": false}"]`), "", nil},
		{"property of a command in Compose", privileged, composed, "SBX416",
			devcontainer.Memory{compose: "services: {s: {image: a, post_start: [{command: x, privileged: true}]}}\n"}},
		{"init by a label", `{"properties": {"forbid": ["init"]}}`, image(`"runArgs": ["--label", "devcontainer.metadata={\"init\": true}"]`),
			"SBX416", nil},
		{"init by runArgs", `{"properties": {"forbid": ["init"]}}`, image(`"runArgs": ["--init"]`), "SBX416", nil},
		{"init by runArgs, off", `{"properties": {"forbid": ["init"]}}`, image(`"runArgs": ["--init=false"]`), "", nil},
		{"init by Compose", `{"properties": {"forbid": ["init"]}}`, composed, "SBX416",
			devcontainer.Memory{compose: "services: {s: {image: a, init: true}}\n"}},
		{"property by capAdd's other name", `{"properties": {"forbid": ["capAdd"]}}`, composed, "SBX416",
			devcontainer.Memory{compose: "services: {s: {image: a, cap_add: [CHOWN]}}\n"}},

		{"mount of a local Feature", mounts, local, "SBX415",
			devcontainer.Memory{feature: `{"id": "f", "mounts": ["type=bind,source=/srv,target=/srv"]}`}},
		{"secret of Compose", mounts, composed, "SBX415",
			devcontainer.Memory{compose: "services: {s: {image: a, secrets: [k]}}\nsecrets: {k: {file: /srv/k}}\n"}},
		{"volume of Compose that is a folder", mounts, composed, "SBX415",
			devcontainer.Memory{
				compose: "services: {s: {image: a, volumes: ['v:/v']}}\nvolumes: {v: {driver_opts: {type: none, o: bind, device: /srv}}}\n"}},
		{"the project in Compose", mounts, composed, "",
			devcontainer.Memory{compose: "services: {s: {image: a, volumes: ['..:/w', './x:/x']}}\n"}},
		{"beside the project in Compose", mounts, composed, "SBX415",
			devcontainer.Memory{compose: "services: {s: {image: a, volumes: ['../../x:/x']}}\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			org, findings := org.Parse("org.jsonc", []byte(c.policy))
			if org == nil {
				t.Fatal(findings)
			}
			tree := devcontainer.Memory{".devcontainer/devcontainer.json": c.src}
			for name, text := range c.tree {
				tree[name] = text
			}
			p, err := devcontainer.Load(tree, ".devcontainer/devcontainer.json", "f")
			if err != nil {
				t.Fatal(err)
			}
			p.Org = org
			if got, _ := ofPolicy(lint.Check(p)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
