package lint_test

import (
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
)

const composed = `{"dockerComposeFile": "c.yml", "service": "s", "workspaceFolder": "/w"}`

// inCompose is a configuration whose service has these lines, with files that builds may name.
func inCompose(config, rest, want string) policyCase {
	return policyCase{config, want, devcontainer.Memory{".devcontainer/c.yml": "services: {s: {image: a, " + rest + "}}\n",
		".devcontainer/Dockerfile": "ARG I=b\nFROM $I\n", ".devcontainer/Plain": "FROM b\n", ".devcontainer/o/Dockerfile": "ARG I=b\nFROM $I\n",
		".devcontainer/o/Syntax": "# syntax=evil.io/x\nFROM b\n", ".devcontainer/key": ""}}
}

// The reference CLI writes mounts of devcontainer.json into a Compose file as SOURCE:TARGET: Compose decides what they are.
func TestAttackMountsOfPropertiesInCompose(t *testing.T) {
	const volume = `}}` + "\nvolumes: {v: {driver_opts: {type: none, o: bind, device: /etc}}, w: {}}\nx-: {y: {z: 1"
	with := func(mounts string) string { return composed[:len(composed)-1] + `, "mounts": [` + mounts + `]}` }
	for _, c := range []policyCase{
		inCompose(with(`{"type": "volume", "source": "/etc", "target": "/x"}`), "", "SBX415"),
		inCompose(with(`"type=volume,source=/etc,target=/x"`), "", "SBX415"),
		inCompose(with(`"type=tmpfs,source=~/.ssh,target=/x"`), "", "SBX415"),
		inCompose(with(`"source=../../etc,target=/x"`), "", "SBX415"),
		inCompose(with(`"source=v,target=/x"`), "user: a"+volume, "SBX415"),
		inCompose(with(`"source=w,target=/x"`), "user: a"+volume, ""),
		inCompose(with(`"source=data,target=/x", "type=tmpfs,target=/y", "source=${localWorkspaceFolder}/new,target=/z,type=bind"`), "", ""),
		// YAML has more to say about a text than that it is one.
		inCompose(with(`{"source": "{type: bind, source: /etc, target", "target": " /x}"}`), "", "SBX109"),
		inCompose(composed[:len(composed)-1]+`, "capAdd": ["CHOWN\n    privileged: true"]}`, "", "SBX109"),
		inCompose(composed[:len(composed)-1]+`, "containerUser": "a\n    privileged: true"}`, "", "SBX109"),
		inCompose(composed[:len(composed)-1]+`, "capAdd": ["CHOWN"], "containerUser": "a", "securityOpt": ["seccomp=unconfined"]}`, "", ""),
	} {
		c.check(t, allForbidden)
	}
}

// The engine passes what a volume's options say to mount(2).
func TestAttackOptionsOfVolumes(t *testing.T) {
	for options, want := range map[string]string{
		"{o: bind, device: etc}": "SBX415", "{o: rbind, device: etc}": "SBX415", "{o: 'ro,bind', device: ../../etc}": "SBX415",
		"{type: ext4, device: etc/disk}": "SBX415", "{o: bind, device: ./data}": "", "{type: nfs, o: addr=x, device: ':/etc'}": "",
		"{type: tmpfs, device: tmpfs}": "",
	} {
		driver := ""
		if want == "" {
			driver = "driver: local, "
		}
		inCompose(composed, "volumes: ['v:/x']}}\nvolumes: {v: {"+driver+"driver_opts: "+options, want).check(t, allForbidden)
	}
	for fields, want := range map[string]string{
		"volume-opt=o=bind,volume-opt=device=etc": "SBX415", "volume-opt=type=none,volume-opt=o=rbind,volume-opt=device=./etc": "SBX415",
		"volume-opt=type=tmpfs,volume-opt=device=tmpfs": "",
	} {
		policyCase{image(`"runArgs": ["--mount=source=v,target=/x,` + fields + `"]`), want, nil}.check(t, allForbidden)
	}
}

// What builds get of the host by name counts as mounted.
func TestAttackWhatBuildsGet(t *testing.T) {
	files := devcontainer.Memory{".devcontainer/Dockerfile": "FROM b\n", "Dockerfile": "FROM b\n"}
	for build, want := range map[string]string{
		`"context": "/etc"`: "SBX415", `"context": "../../../etc"`: "SBX415", `"context": "../link"`: "SBX415",
		`"context": "${localEnv:HOME}"`: "SBX415", `"context": ".."`: "", `"context": "../.."`: "", `"context": "../new"`: "",
		`"options": ["--build-context=c=/etc"]`: "SBX415", `"options": ["--build-context=c=.."]`: "",
		`"options": ["--build-context=c=docker-image://b"]`: "", `"options": ["--secret=id=s,src=/etc/shadow"]`: "SBX415",
		`"options": ["--secret", "id=s,SRC=${localEnv:HOME}/.ssh/id"]`: "SBX415", `"options": ["--secret=id=s,env=TOKEN"]`: "",
		`"options": ["--ssh=default"]`: "", `"options": ["--ssh=k=/etc/key"]`: "SBX415",
		`"options": ["--output=type=local,dest=/etc/cron.d"]`: "SBX415", `"options": ["--iidfile=/etc/x"]`: "SBX415",
		`"options": ["--cache-to=type=local,dest=/etc/x"]`: "SBX415", `"options": ["--cache-from=type=local,src=/etc"]`: "SBX415",
		`"cacheFrom": ["type=local,src=/etc"]`: "SBX415", `"cacheFrom": ["type=local,src=cache"]`: "",
	} {
		policyCase{`{"build": {"dockerfile": "Dockerfile", ` + build + `}}`, want, files}.check(t, allForbidden)
	}
	policyCase{`{"dockerFile": "Dockerfile", "context": "../../../etc"}`, "SBX415", files}.check(t, allForbidden)
	for build, want := range map[string]string{
		"build: ../../../etc": "SBX109 SBX415", "build: {context: ../link}": "SBX109 SBX415",
		"build: {context: ., additional_contexts: {c: /etc}}": "SBX415",
		"build: {context: ., ssh: [default]}":                 "", "build: {context: ., ssh: ['k=/etc/key']}": "SBX415",
		"build: {context: ., cache_to: ['type=local,dest=/etc']}":                                         "SBX415",
		"build: {context: ., secrets: [k]}}}\nsecrets: {k: {file: /etc/shadow":                            "SBX415",
		"build: {context: ., secrets: [{source: k, target: t}]}}}\nsecrets: {k: {file: '/e${X}tc/shadow'": "SBX415",
		"build: {context: ., secrets: [k]}}}\nsecrets: {k: {file: ./key":                                  "",
		"build: {context: .., dockerfile: .devcontainer/Plain, additional_contexts: {c: 'service:s'}}":    "",
	} {
		inCompose(composed, build, want).check(t, allForbidden)
	}
	inCompose(composed, "use_api_socket: true", "SBX415").check(t, `{"mounts": {"forbid": ["/run/docker.sock"]}}`)
	policyCase{image(`"runArgs": ["--use-api-socket"]`), "SBX415", nil}.check(t, `{"mounts": {"forbid": ["/var/run/docker.sock"]}}`)
}

// Images come into builds by more than FROM.
func TestAttackImagesOfBuilds(t *testing.T) {
	next := func(build string) string { return "user: a}, n: {build: " + build }
	for rest, want := range map[string]string{
		next("{context: o, args: {I: evil.io/x}}"): "SBX606", next("{context: o}"): "", next("{context: o, dockerfile: Syntax}"): "SBX606",
		next("{dockerfile_inline: \"# syntax=evil.io/x\\nFROM b\\n\"}"):          "SBX606",
		next("{context: ., additional_contexts: {c: 'docker-image:evil.io/x'}}"): "SBX606",
		next("{context: ., cache_from: ['TYPE=Registry,Ref=evil.io/x']}"):        "SBX606",
		next("{context: ., sbom: 'generator=evil.io/x'}"):                        "SBX606",
		next("{context: .}, image: evil.io/x"):                                   "",
		next("{context: .}, image: evil.io/x, pull_policy: always"):              "SBX606",
		next("{context: /}"):       "SBX109 SBX415",
		"build: {context: '${X}'}": "SBX109",
		"label_file: l":            "SBX109",
		"build: {context: ., args: {BUILDKIT_SYNTAX: evil.io/x}}":                         "SBX606",
		"build: {dockerfile_inline: \"ARG I=b\\nFROM $I\\n\", args: {I: evil.io/x}}":      "SBX606",
		"build: {dockerfile_inline: \"ARG I=evil.io/x\\nFROM $I\\n\", args: {I: acme/a}}": "",
	} {
		inCompose(composed, rest, want).check(t, allForbidden)
	}
	inCompose(composed, next("{context: '${X}'}"), "SBX109").check(t, `{"registries": {"allow": ["docker.io"]}}`)
	for option, want := range map[string]string{
		"--sbom=generator=evil.io/x": "SBX606", "--attest=type=sbom,generator=evil.io/x": "SBX606",
		"--build-context=c=docker-image:evil.io/x": "SBX606",
		"--cache-from=type=registry,REF=evil.io/x": "SBX606", "--sbom=true": "",
	} {
		policyCase{`{"build": {"dockerfile": "Dockerfile", "options": ["` + option + `"]}}`, want,
			devcontainer.Memory{".devcontainer/Dockerfile": "FROM b\n"}}.check(t, allForbidden)
	}
}

// A registry and a Feature have several names.
func TestAttackNamesOfRegistries(t *testing.T) {
	const hub, ghcr = `{"registries": {"forbid": ["docker.io/evil", "docker.io/library/bad"]}}`, `{"registries": {"forbid": ["ghcr.io/evil"]}}`
	for name, want := range map[string]string{
		"evil/x": "SBX606", "index.docker.io/evil/x": "SBX606", "registry-1.docker.io/evil/x": "SBX606", "docker.io/bad": "SBX606",
		"docker.io:443/evil/x": "SBX606", "index.docker.io/bad:1": "SBX606", "docker.io/good": "", "docker.io:5000/evil/x": "",
		"evil/x:${templateOption:-}": "SBX606", "docker.io/evil/${localEnv:X}": "SBX606", "docker.io/${localEnv:X:evil}/x": "SBX606",
		"docker.io/${localEnv:X}/x": "",
	} {
		policyCase{`{"image": "` + name + `"}`, want, nil}.check(t, hub)
	}
	policyCase{`{"image": "evil/x"}`, "SBX606", nil}.check(t, `{"registries": {"forbid": ["index.docker.io/evil"]}}`)
	policyCase{`{"image": "evil/x"}`, "", nil}.check(t, `{"registries": {"allow": ["registry-1.docker.io/evil"]}}`)
	for _, image := range []string{"evil.io/x:${templateOption:-}", "evil.io/x:${TAG:?}", "evil.io/${X:?}", "${X:-evil.io}/x"} {
		policyCase{composed, "SBX606", devcontainer.Memory{".devcontainer/c.yml": "services: {s: {image: '" + image + "'}}\n"}}.
			check(t, allForbidden)
	}
	policyCase{`{"image": "Evil/x"}`, "SBX606", nil}.check(t, `{"registries": {"allow": ["docker.io"]}}`)
	for name, want := range map[string]string{
		"ghcr.io/evil/f/a:1": "SBX606", "https://ghcr.io/evil/f/devcontainer-feature-a.tgz": "SBX606",
		"https://u:p@ghcr.io/evil/devcontainer-feature-a.tgz": "SBX606", "https://ghcr.io:443/x/../evil/devcontainer-feature-a.tgz": "SBX606",
		"https://GHCR.io/%65vil/devcontainer-feature-a.tgz": "SBX606", "https://ghcr.io/good/devcontainer-feature-a.tgz?x=/evil": "",
	} {
		policyCase{image(`"features": {"` + name + `": {}}`), want, nil}.check(t, ghcr)
	}
	for name, want := range map[string]string{
		"https://x.io/devcontainer-feature-docker-in-docker.tgz?x=/y": "SBX611",
		"https://x.io/devcontainer-feature-docker-in-docker.tgz#/y":   "SBX611",
		"https://x.io/devcontainer-feature-docker%2din-docker.tgz":    "SBX611", "https://x.io/devcontainer-feature-go.tgz?docker-in-docker": "",
	} {
		policyCase{image(`"features": {"` + name + `": {}}`), want, nil}.check(t, `{"features": {"forbid": ["docker-in-docker"]}}`)
	}
}

// A property has other names, and a requirement is met by what counts.
func TestAttackOtherNames(t *testing.T) {
	for _, c := range []struct{ policy, src, want string }{
		{`{"properties": {"forbid": ["build"]}}`, `{"dockerFile": "../Dockerfile"}`, "SBX416"},
		{`{"properties": {"forbid": ["customizations"]}}`, image(`"extensions": ["a.b"]`), "SBX416"},
		{`{"properties": {"forbid": ["mounts"]}}`, image(`"runArgs": ["--tmpfs=/x"]`), "SBX416"},
		{`{"properties": {"forbid": ["mounts"]}}`, image(`"runArgs": ["--volumes-from=x"]`), "SBX416"},
		{`{"properties": {"require": ["remoteUser"]}}`, image(`"remoteUser": ""`), "SBX416"},
		{`{"properties": {"require": ["remoteUser"]}}`, image(`"remoteUser": "dev"`), ""},
		{`{"extensions": {"require": ["acme.lint"]}}`, image(`"customizations": {"other": {"extensions": ["acme.lint"]}}`), "SBX607"},
		{`{"extensions": {"require": ["acme.lint"]}}`, image(`"customizations": {"vscode": {"extensions": ["acme.lint"]}}`), ""},
		{`{"extensions": {"forbid": ["evil.*"]}}`, image(`"customizations": {"vscode": {"extensions": ["/x/evil.vsix"]}}`), "SBX607"},
	} {
		policyCase{c.src, c.want, devcontainer.Memory{"Dockerfile": "FROM a\n"}}.check(t, c.policy)
	}
	for rest, want := range map[string]string{
		"post_start: [{command: id, privileged: true}]": "SBX414 SBX416", "post_start: [{command: id}]": "", "environment: {A: b}": "",
	} {
		inCompose(composed, rest, want).check(t, allForbidden)
	}
	inCompose(composed, "environment: {A: b}", "SBX416").check(t, `{"properties": {"forbid": ["containerEnv"]}}`)
}
