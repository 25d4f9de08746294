package lint_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
)

// The reference CLI writes texts into files of its own: what is more than one text there is an error that no comment takes away.
func TestAttackTextsInFilesOfTheCLI(t *testing.T) {
	for properties, want := range map[string]string{
		`"containerEnv": {"A=1\nCOPY --from=evil.io/x /a /b\nENV B": "1"}`: "SBX109", `"containerEnv": {"A": "1\n2", "B.C-D": "x"}`: "",
		`"remoteUser": "a\nCOPY --from=evil.io/x /a /b"`: "SBX109", `"features": {"./f\nx": {}}`: "SBX109",
		`"runArgs": ["--", "evil.io/x"]`: "SBX606", `"runArgs": ["evil.io/x"]`: "SBX606", `"runArgs": ["--init", "--"]`: "",
		`"features": {"./gone": {}}`: "SBX109", `"features": {"./f": {}}`: "", `"runArgs": ["--cidfile=/etc/x"]`: "SBX415",
		`"runArgs": ["--cidfile=id"]`: "",
	} {
		policyCase{image(properties), want, devcontainer.Memory{".devcontainer/f/devcontainer-feature.json": `{"id": "f", "version": "1.0.0"}`,
			".devcontainer/f/install.sh": "#!/bin/sh\n"}}.check(t, allForbidden)
	}
	of := func(properties string) string { return composed[:len(composed)-1] + ", " + properties + "}" }
	for properties, want := range map[string]string{
		`"containerEnv": {"A'\n    privileged: true #": "x"}`: "SBX109", `"containerEnv": {"A": "x"}`: "",
		`"mounts": ["type=bind,source=/etc=x,target=/t"]`: "SBX415", `"mounts": ["src=${localEnv:HOME}/.ssh=,dst=/t"]`: "SBX415",
		`"mounts": ["type=volume,source=v,target=/v\n    privileged: true"]`: "SBX109", `"capAdd": ["NET_${EMPTY}RAW"]`: "SBX109",
		`"mounts": [{"type": "bind", "source": "/e${EMPTY}tc", "target": "/x"}]`: "SBX109", `"mounts": ["source=$HOME/.cache,target=/x"]`: "",
		`"mounts": ["source=${localEnv:HOME}/.cache,target=/x", "source=${devcontainerId}-v,target=/y"]`: "",
	} {
		inCompose(of(properties), "", want).check(t, allForbidden)
	}
	for file, want := range map[string]string{
		"# hadolint ignore=x\n# syntax=evil.io/x\nFROM b\n": "", "# hadolint-ignore=x\n# syntax=evil.io/x\nFROM b\n": "SBX606",
		"  # a=b\n # syntax=evil.io/x\nFROM b\n":                                              "SBX606",
		"# escape=`\nFROM b\nRUN echo a # `\nLABEL a=b\n":                                     "SBX109",
		"FROM b AS a\nONBUILD LABEL devcontainer.metadata='{\"privileged\": true}'\nFROM a\n": "SBX109",
		"FROM b AS a\nONBUILD COPY --from=0 / /\nFROM a\n":                                    "SBX109",
		"FROM b AS a\nONBUILD ENV X=1\nFROM a\n":                                              "SBX109",
		"FROM b\nONBUILD COPY . .\n":                                                          "", "FROM b AS a\nONBUILD COPY . .\nFROM a\n": "",
		"ARG T\nFROM b\nLABEL devcontainer.metadata=${T:+[{}]}\n": "SBX109", "FROM b\nARG V\nLABEL version=$V\n": "",
		"FROM b AS a\nONBUILD RUN true\nFROM a\n": "",
	} {
		policyCase{`{"build": {"dockerfile": "Dockerfile"}}`, want, devcontainer.Memory{".devcontainer/Dockerfile": file}}.check(t, allForbidden)
	}
}

// Compose files say things in more ways than one.
func TestAttackWritingsOfYAML(t *testing.T) {
	encoded := func(s string) string { return "!!binary " + base64.StdEncoding.EncodeToString([]byte(s)) }
	for rest, want := range map[string]string{
		encoded("privileged") + " : true": "SBX414 SBX416", "volumes: [" + encoded("/etc:/x") + "]": "SBX415",
		"privileged: '${COMPOSE_PROJECT_NAME:+true}'": "SBX414 SBX416", "cap_add: ['${PATH:+NET_RAW}']": "SBX414",
		"models: [m]}}\nmodels: {m: {model: evil.io/m:1": "SBX606", "models: [m]}}\nmodels: {m: {model: b/m:1": "",
	} {
		inCompose(composed, rest, want).check(t, allForbidden)
	}
	for key, want := range map[string]string{"privileged": "SBX414 SBX416", "read_only": ""} {
		policyCase{composed, want, devcontainer.Memory{".devcontainer/c.yml": "x-k: &k " + key + "\nservices: {s: {image: a, *k : true}}\n"}}.
			check(t, allForbidden)
	}
	for env, want := range map[string]string{
		"B=evil.io/x\n": "SBX606", "export\tB=evil.io/x\n": "SBX606", "B=b\n": "", "COMPOSE_DISABLE_ENV_FILE=1\nB=b\n": "SBX109",
		"COMPOSE_ENV_FILES=x\n": "SBX109",
	} {
		policyCase{composed, want, devcontainer.Memory{".devcontainer/c.yml": "services: {s: {build: {context: ., args: [BUILDKIT_SYNTAX]}}}\n",
			".devcontainer/.env": strings.Replace(env, "B=", "BUILDKIT_SYNTAX=", 1), ".devcontainer/Dockerfile": "FROM b\n"}}.check(t, allForbidden)
		for _, service := range []string{"image: '${B:-b}'", "build: {context: ., args: [B]}", "image: a}, n: {build: {context: ., args: [B]}"} {
			policyCase{composed, want, devcontainer.Memory{".devcontainer/c.yml": "services: {s: {" + service + "}}\n", ".devcontainer/.env": env,
				".devcontainer/Dockerfile": "ARG B=b\nFROM $B\n"}}.check(t, allForbidden)
		}
	}
	outside := devcontainer.Memory{".devcontainer/c.yml": "include: [../../o.yml]\nservices: {s: {image: a}}\n"}
	policyCase{composed, "SBX109", outside}.check(t, allForbidden)
}

// Features and registries go by names that tools make others of.
func TestAttackNamesThatToolsChange(t *testing.T) {
	for name, want := range map[string]string{
		"maven": "SBX611", "gradle": "SBX611", "java": "SBX611", "golang": "SBX611", "ghcr.io/devcontainers/features/go:1": "SBX611",
		"ghcr.io/devcontainers/features/docker-in-docker:2": "SBX611", "node": "",
	} {
		policyCase{image(`"features": {"` + name + `": {}}`), want, nil}.
			check(t, `{"features": {"forbid": ["java", "ghcr.io/devcontainers/features/go", "docker-*"]}}`)
	}
	policyCase{image(`"features": {"ghcr.io/devcontainers/features/go:1": {}}`), "SBX611", nil}.
		check(t, `{"features": {"forbid": ["devcontainers/features/go"]}}`)
	const extra = `{"registries": {"forbid": ["ghcr.io/devcontainers-extra", "evil.io"]}}`
	for name, want := range map[string]string{
		"ghcr.io/devcontainers-contrib/features/x:1": "SBX606", "ghcr.io/devcontainers-contribs/features/x:1": "", "evil.io:0443/ns/f": "SBX606",
		"ev%69l.io/ns/f": "SBX606", "https://ev%69l.io/devcontainer-feature-x.tgz": "SBX606", "ghcr.io/a/b": "",
		`https://acme.io\\@evil.io/devcontainer-feature-x.tgz`: "SBX606", "https:///evil.io/devcontainer-feature-x.tgz": "SBX606",
		"https://acme.io/devcontainer-feature-x.tgz?a=b%20c": "", "ghcr.io/a/b" + digest: "",
	} {
		policyCase{image(`"features": {"` + name + `": {}}`), want, nil}.check(t, extra)
	}
	const acme = `{"registries": {"allow": ["github.com/acme", "docker.io"]}}`
	for name, want := range map[string]string{
		"https://github.com/acme/..\\\\evil/x/devcontainer-feature-a.tgz": "SBX606", "acme/repo/go@../../../../evil": "SBX606",
		"https://github.com/acme/../evil/%zz/devcontainer-feature-a.tgz": "SBX606", "acme/repo/go": "", "https://github.com/acme/x/a.tgz": "",
	} {
		policyCase{image(`"features": {"` + name + `": {}}`), want, nil}.check(t, acme)
	}
	policyCase{`{"build": {"dockerfile": "Dockerfile", "options": ["--build-context=c=https://github.com/evil/x.git"]}}`, "SBX606",
		devcontainer.Memory{".devcontainer/Dockerfile": "FROM a\n"}}.check(t, `{"registries": {"forbid": ["github.com/evil"]}}`)
}

// Where the host decides which file or stage counts, each one does.
func TestAttackChoiceOfTheHost(t *testing.T) {
	const allowed = `{"registries": {"allow": ["docker.io"]}, "properties": {"forbid": ["privileged"]}}`
	stages := "FROM evil.io/x AS s-arm64\nFROM a AS s-amd64\nFROM evil.io/x AS linux\nFROM a AS dev-b\n"
	for last, want := range map[string]string{
		"FROM s-$TARGETARCH\n": "SBX606", "ARG TARGETARCH\nFROM s-${TARGETARCH}\n": "SBX606", "FROM $TARGETOS\n": "SBX606",
		"FROM s-amd64\n": "", "FROM dev-b\n": "",
	} {
		policyCase{`{"build": {"dockerfile": "Dockerfile"}}`, want, devcontainer.Memory{".devcontainer/Dockerfile": stages + last}}.
			check(t, allowed)
	}
	for build, want := range map[string]string{
		`"target": "dev-${localEnv:T:b}"`: "SBX606", `"target": "dev-b"`: "", `"args": {"V": "${localEnv:V:b}"}`: "SBX606",
		`"options": ["--target=dev-${localEnv:T:b}"]`: "SBX606",
	} {
		policyCase{`{"build": {"dockerfile": "Dockerfile", ` + build + `}}`, want,
			devcontainer.Memory{".devcontainer/Dockerfile": "ARG V=b\n" + stages + "FROM dev-$V AS last\n"}}.check(t, allowed)
	}
	for rest, want := range map[string]string{
		"build: {context: ., target: '${T:-dev-b}'}": "SBX606", "build: {context: ., target: dev-b}": "",
		"build: {context: ., args: {V: '${V:-b}'}}": "SBX606", "build: {context: './${D:-x}'}": "SBX109", "build: x": "",
		"extends: {file: '${D:-x}/c.yml', service: a}": "SBX109", "extends: {file: x/c.yml, service: a}": "",
		"extends: {file: 'oci://evil.io/x:1', service: a}":                    "SBX109 SBX606",
		"extends: {file: 'https://evil.io/x.git', service: a}":                "SBX109 SBX606",
		"image: a}, m: {provider: {type: model, options: {model: evil.io/x}}": "SBX606",
	} {
		policyCase{composed, want, devcontainer.Memory{".devcontainer/c.yml": "services: {s: {" + rest + "}}\n",
			".devcontainer/x/Dockerfile": "FROM a\n",
			".devcontainer/y/Dockerfile": "FROM evil.io/x\n", ".devcontainer/x/c.yml": "services: {a: {image: a}}\n",
			".devcontainer/y/c.yml":    "services: {a: {image: a, privileged: true}}\n",
			".devcontainer/Dockerfile": "ARG V=b\n" + stages + "FROM dev-$V AS last\n"}}.check(t, allowed)
	}
	for source, want := range map[string]string{
		`C:\Users\u\.ssh`: "SBX415", "c:/Users/u/.ssh": "SBX415", "/run/desktop/mnt/host/c/Users/u/.ssh": "SBX415",
		"//wsl.localhost/Debian/etc": "SBX415", "c:/src": "",
	} {
		inCompose(composed, "volumes: [{type: bind, source: '"+source+"', target: /x}]", want).check(t, allForbidden)
		inCompose(composed, "volumes: ['"+source+":/x']", want).check(t, allForbidden)
	}
	for added, want := range map[string]string{"CHOWN": "", "BPF": "", "ALL": "SBX414", "NET_RAW": "SBX414"} {
		policyCase{image(`"capAdd": ["` + added + `"]`), want, nil}.check(t, `{"capabilities": {"allow": ["CHOWN", "KILL", "ALL"],
			"forbid": ["NET_RAW"]}}`)
	}
}

// What is fine is no error of a policy.
func TestPolicyLeavesTheUsualAlone(t *testing.T) {
	const allowed = `{"registries": {"allow": ["ghcr.io/acme"]}, "mounts": {"allow": ["/var/run/docker.sock", "~/.cache"]}}`
	for name, want := range map[string]string{
		"ghcr.io/acme/base:${localEnv:TAG:1}": "", "ghcr.io/acme/${localEnv:NAME:base}": "", "ghcr.io/${localEnv:NAME:acme}/base": "SBX606",
		"${localEnv:IMAGE:ghcr.io/acme/base}": "SBX606",
	} {
		policyCase{`{"image": "` + name + `"}`, want, nil}.check(t, allowed)
	}
	for file, want := range map[string]string{
		"FROM ghcr.io/acme/b AS b-amd64\nFROM ghcr.io/acme/b AS b-arm64\nFROM b-${TARGETARCH}\n": "",
		"FROM ghcr.io/acme/b AS b-linux\nFROM b-${TARGETOS:-linux}\n":                            "",
		"FROM ghcr.io/acme/b AS b-amd64\nFROM b-${TARGETARCH}\n":                                 "SBX606",
	} {
		policyCase{`{"build": {"dockerfile": "Dockerfile"}}`, want, devcontainer.Memory{".devcontainer/Dockerfile": file}}.check(t, allowed)
	}
	for source, want := range map[string]string{"/var/run/docker.sock": "", "/run/docker.sock": "", "/var/run/x": "SBX415"} {
		policyCase{`{"image": "ghcr.io/acme/a", "mounts": ["type=bind,source=` + source + `,target=/x"]}`, want, nil}.check(t, allowed)
	}
	for source, want := range map[string]string{
		"${localWorkspaceFolder}/..": "", "${localWorkspaceFolder}/../..": "SBX415", "/srv": "SBX415",
	} {
		policyCase{image(`"mounts": ["type=bind,source=` + source + `,target=/x"]`), want, nil}.check(t, `{"mounts": {"allow": [".."]}}`)
	}
	policyCase{image(`"mounts": ["type=bind,source=${localWorkspaceFolder}/..,target=/x"]`), "SBX415", nil}.
		check(t, `{"mounts": {"forbid": [".."]}}`)
	policyCase{`{"build": {"dockerfile": "Dockerfile"}}`, "", devcontainer.Memory{".devcontainer/Dockerfile": "ARG V\nFROM pypy:${V}\n"}}.
		check(t, `{"registries": {"allow": ["docker.io"]}}`)
	policyCase{`{"build": {"dockerfile": "Dockerfile"}}`, "SBX606",
		devcontainer.Memory{".devcontainer/Dockerfile": "ARG V\nFROM my.io:${V}\n"}}.
		check(t, `{"registries": {"allow": ["docker.io"]}}`)
	shared := inCompose(composed, "user: a}, a: {build: ., image: 'own:1'}, b: {image: 'own:1'", "")
	shared.check(t, `{"registries": {"allow": ["docker.io/library/a", "docker.io/library/b"]}}`)
	inCompose(composed, "volumes_from: ['container:other']", "SBX415").check(t, allForbidden)
	policyCase{image(`"runArgs": ["--volumes-from=other"]`), "SBX415", nil}.check(t, allForbidden)
	inCompose(composed, "volumes: ['v:/x', '$PWD/data:/d']}}\nvolumes: {v: {driver_opts: {type: cifs, device: //srv/etc}", "").
		check(t, `{"mounts": {"allow": ["~/.cache"]}}`)
	brought := devcontainer.Memory{".devcontainer/f/devcontainer-feature.json": `{"id": "f", "version": "1.0.0",
		"dependsOn": {"ghcr.io/a/b/ca": {}},
		"customizations": {"vscode": {"extensions": ["acme.lint"]}}}`, ".devcontainer/f/install.sh": "#!/bin/sh\n"}
	policyCase{image(`"features": {"./f": {}}`), "", brought}.
		check(t, `{"extensions": {"require": ["acme.lint"]}, "features": {"require": ["ca"]}}`)
	const empty = `{"properties": {"forbid": ["runArgs", "capAdd", "mounts", "customizations"], "require": ["init"]}}`
	policyCase{image(`"runArgs": [], "capAdd": [], "mounts": [], "customizations": {}, "init": true`), "", nil}.check(t, empty)
	policyCase{image(`"runArgs": ["--init"], "init": true`), "SBX416", nil}.check(t, empty)
	policyCase{image(`"init": false`), "SBX416", nil}.check(t, empty)
	for property, want := range map[string]string{"customizations": "SBX416", "waitFor": "SBX416", "forwardPorts": ""} {
		policyCase{image(`"runArgs": ["--label", "devcontainer.metadata={\"` + property + `\": {\"a\": 1}}"]`), want, nil}.
			check(t, `{"properties": {"forbid": ["customizations", "waitFor"]}}`)
	}
	for source, want := range map[string]string{
		"${localEnv:HOME}/.SSH": "SBX415", "/var/home/u/.ssh": "SBX415", "/private/etc": "SBX415", "/System/Volumes/Data/Users/u/.ssh": "SBX415",
		"/mnt/c/Users/u/.ssh": "SBX415", "/host_mnt/etc": "SBX415", "/privates/etc": "", "/mnt/c/src": "", `C:\\Users\\u\\.ssh`: "SBX415",
	} {
		policyCase{image(`"mounts": ["type=bind,source=` + source + `,target=/x"]`), want, nil}.check(t, allForbidden)
	}
}
