package lint_test

import (
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
)

const anyDigest = "sha256:6f35f3b1a6a0a4bd6d8e6a2c8be6b7a1d1f2a3b4c5d6e7f8091a2b3c4d5e6f70"

// The spellings of what the rules of these families look for, and what is near
// to it and right.
func TestVariants(t *testing.T) {
	const digest = anyDigest
	tests := []struct{ name, src, want string }{
		// 3xx
		{"variables that are known",
			image(`"remoteEnv": {"A": "${localEnv:A:x}${containerEnv:B}${devcontainerId}${localWorkspaceFolderBasename}"}`), ""},
		{"a slip in a variable", image(`"mounts": ["type=bind,source=${localworkspaceFolder}/a,target=/a"]`), "SBX304"},
		{"the shell's own variables", image(`"postCreateCommand": "echo ${HOME} ${env:X}", "onCreateCommand": {"a": "echo ${B:-c}"}`), ""},
		{"variables of the editor", image(`"customizations": {"vscode": {"settings": {"a": "${workspaceFolder}/${env:X}"}}}`), ""},
		{"a default with a colon", image(`"remoteEnv": {"A": "${localEnv:A:http://x}"}`), "SBX305"},
		{"no name", image(`"remoteEnv": {"A": "${localEnv}"}`), "SBX306"},
		{"env for localEnv", image(`"remoteEnv": {"A": "${env:A}"}`), "SBX307"},
		{"container's variable in a mount", image(`"mounts": ["type=volume,source=v,target=${containerEnv:HOME}/x"]`), "SBX308"},
		{"container's variable in runArgs", image(`"runArgs": ["--hostname", "${containerEnv:HOSTNAME}"]`), "SBX308"},
		{"folder without mount", image(`"workspaceFolder": "/workspaces/x/sub"`), ""},
		{"mount in the form of -v", image(`"mounts": ["/a:/b"]`), "SBX310"},
		{"mount with a slip", image(`"mounts": ["type=bind,soruce=/srv/x,target=/b"]`), "SBX310"},
		{"bind without source", image(`"mounts": ["type=bind,target=/b"]`), "SBX310"},
		{"volume without source", image(`"mounts": ["type=volume,target=/b"]`), ""},
		{"tmpfs", image(`"mounts": ["type=tmpfs,destination=/b,tmpfs-size=1g"]`), ""},
		{"options of mounts",
			image(`"mounts": ["type=bind,src=${localWorkspaceFolder}/a,dst=/b,readonly,consistency=cached,bind-propagation=rslave"]`), ""},
		{"quoted commas", image(`"mounts": ["type=bind,\"source=${localWorkspaceFolder}/a,b\",target=/b"]`), ""},
		{"unknown type", image(`"mounts": ["type=nfs,source=a,target=/b"]`), "SBX310"},
		{"a mount that is a variable", image(`"mounts": ["${localEnv:MY_MOUNT}"]`), ""},
		{"targets that meet", image(`"mounts": ["type=volume,source=a,target=/d/"], "runArgs": ["-v", "b:/d"]`), "SBX312"},
		{"array of words", image(`"postCreateCommand": ["npm", "ci"]`), ""},
		{"array with a shell", image(`"postCreateCommand": ["bash", "-c", "a && b"]`), ""},
		{"array with a path", image(`"postCreateCommand": ["./setup.sh"]`), ""},
		{"array with an operator", image(`"postCreateCommand": ["npm", "ci", "&&", "npm", "test"]`), "SBX314"},
		{"array in an object", image(`"postCreateCommand": {"a": ["npm ci"]}`), "SBX314"},

		{"one slip, one finding: build", `{"build": {"dockerFile": "D"}}`, "SBX201"},
		{"one slip, one finding: image", `{"imgae": "a:1"}`, "SBX201"},
		{"one slip, one finding: Compose", `{"dockerComposeFile": "c.yml", "sevice": "s", "workspaceFolder": "/"}`, "SBX201"},
		{"one mistake, one finding: what Compose ignores",
			`{"dockerComposeFile": "c.yml", "service": "s", "workspaceFolder": "/", "runArgs": ["--privileged", "-v/:/host"]}`, "SBX206"},
		{"one mistake, one finding: a port that Compose ignores",
			`{"dockerComposeFile": "c.yml", "service": "s", "workspaceFolder": "/", "appPort": "80:80"}`, "SBX206"},
		{"one mistake, one finding: a mount that Compose ignores",
			`{"dockerComposeFile": "c.yml", "service": "s", "workspaceFolder": "/", "workspaceMount": "type=bind,source=/,target=/w"}`, "SBX206"},
		{"an image wins over Compose, and what it gets counts", `{"image": "a:1", "dockerComposeFile": "c.yml", "runArgs": ["--privileged"]}`,
			"SBX205 SBX402"},
		{"build options that nothing builds with", `{"image": "a:1", "build": {"options": ["--network=host"]}}`, "SBX206"},
		{"a slip and something missing", `{"nmae": "x"}`, "SBX201 SBX205"},

		// 4xx
		{"device in two words", image(`"runArgs": ["--device", "/dev/kvm"]`), "SBX406"},
		{"all GPUs", image(`"runArgs": ["--gpus", "all"]`), "SBX406"},
		{"class of devices", image(`"runArgs": ["--device-cgroup-rule=a *:* rwm"]`), "SBX406"},
		{"no device", image(`"runArgs": ["--device=/dev/null"]`), ""},
		{"volumes of another", image(`"runArgs": ["--volumes-from", "db"]`), "SBX409"},
		{"the build's network", `{"build": {"dockerfile": "D", "options": ["--network=host"]}}`, "SBX410"},
		{"the build's network in two words", `{"build": {"dockerfile": "D", "options": ["--network", "host"]}}`, "SBX410"},
		{"a label of that name", `{"build": {"dockerfile": "D", "options": ["--label", "--network=host", "-t", "--ssh=x"]}}`, ""},
		{"build argument in two words", `{"build": {"dockerfile": "D", "options": ["--build-arg", "NPM_TOKEN=${localEnv:NPM_TOKEN}"]}}`,
			"SBX504"},
		{"keys for the build", `{"build": {"dockerfile": "D", "options": ["--ssh=default"]}}`, "SBX410"},
		{"a label for the build", `{"build": {"dockerfile": "D", "options": ["--label=a=b"]}}`, ""},
		{"port as a number", image(`"appPort": [3000]`), ""},
		{"port as text", image(`"appPort": ["8080:80"]`), "SBX411"},
		{"port on loopback", image(`"appPort": ["127.0.0.1:8080:80"], "runArgs": ["-p", "[::1]:1:1"]`), ""},
		{"port by runArgs", image(`"runArgs": ["-p8080:80"]`), "SBX411"},
		{"port on every address", image(`"runArgs": ["--publish=0.0.0.0:8080:80"]`), "SBX411"},
		{"nested engine, no agent", image(`"features": {"ghcr.io/devcontainers/features/docker-in-docker:2.12.0": {}}`), ""},
		{"nested engine with an agent",
			image(`"securityOpt": ["no-new-privileges"], "features": {"ghcr.io/devcontainers/features/docker-outside-of-docker:1.6.0": {}}, ` +
				`"customizations": {"vscode": {"extensions": ["anthropic.claude-code"]}}`), "SBX412"},
		{"agent, setuid works", image(`"customizations": {"vscode": {"extensions": ["anthropic.claude-code"]}}`), "SBX413"},

		// 6xx
		{"no tag", `{"image": "registry.example.com:5000/a/b"}`, "SBX602"},
		{"latest", `{"image": "a:latest"}`, "SBX602"},
		{"digest", `{"image": "a:latest@` + digest + `"}`, ""},
		{"an image that a variable names", `{"image": "a:${templateOption:v}"}`, ""},
		{"image beside a Dockerfile", `{"image": "a", "build": {"dockerfile": "D"}}`, "SBX205"},
		{"major version", image(`"features": {"ghcr.io/a/b/c:1": {}}`), "SBX603"},
		{"no version", image(`"features": {"ghcr.io/a/b/c": {}}`), "SBX603"},
		{"digest of a Feature", image(`"features": {"ghcr.io/a/b/c@` + digest + `": {}}`), ""},
		{"registry with a port", image(`"features": {"localhost:5000/a/b:1.2.3": {}}`), ""},
		{"bare name", image(`"features": {"golang": "latest"}`), "SBX604"},
		{"release of a repository", image(`"features": {"owner/repo/go": {}}`), "SBX604"},
		{"tarball", image(`"features": {"https://example.com/devcontainer-feature-go.tgz": {}}`), ""},
		{"pipe to sh as root", image(`"onCreateCommand": "wget -qO- https://x | sudo -E sh -s -- -y"`), "SBX608"},
		{"substitution", image(`"onCreateCommand": "bash <(curl -s https://x)"`), "SBX608"},
		{"sh -c of a download", image(`"onCreateCommand": {"a": "sh -c \"$(curl -fsSL https://x)\""}`), "SBX608"},
		{"python", image(`"onCreateCommand": "curl https://x | python3 -"`), "SBX608"},
		{"a pipe to grep", image(`"onCreateCommand": "curl https://x | grep sh"`), ""},
		{"a download", image(`"onCreateCommand": "curl -o f https://x && sha256sum -c s && sh f"`), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			findings := alone(tt.src)
			if got := reported(findings); got != tt.want {
				t.Errorf("%s\ngot %q, want %q: %v", tt.src, got, tt.want, findings)
			}
		})
	}
}

func TestFilesThatAreMissing(t *testing.T) {
	const feature = `{"id": "f", "version": "1.0.0", "name": "F"}`
	for _, tt := range []struct {
		name, src, want string
		tree            devcontainer.Memory
	}{
		{"Dockerfile above", `{"build": {"dockerfile": "../Dockerfile"}}`, "",
			devcontainer.Memory{"Dockerfile": "FROM " + pinned + "\nRUN useradd x\nUSER x\n"}},
		{"no Dockerfile", `{"dockerFile": "Dockerfile"}`, "SBX311", devcontainer.Memory{}},
		{"Dockerfile outside the repository", `{"build": {"dockerfile": "../../Dockerfile"}}`, "SBX109", devcontainer.Memory{}},
		{"Dockerfile by a variable", `{"build": {"dockerfile": "${localEnv:D}"}}`, "SBX109", devcontainer.Memory{}},
		{"one Compose file of two", `{"dockerComposeFile": ["a.yml", "b.yml"], "service": "s", "workspaceFolder": "/"}`, "SBX311",
			devcontainer.Memory{".devcontainer/a.yml": "services: {s: {image: \"a:1\"}}\n"}},
		{"local Feature", image(`"features": {"./f": {}}`), "",
			devcontainer.Memory{".devcontainer/f/devcontainer-feature.json": feature, ".devcontainer/f/install.sh": ""}},
		{"no local Feature", image(`"features": {"./g": {}}`), "SBX311", devcontainer.Memory{}},
		{"Feature outside .devcontainer", image(`"features": {"../f": {}}`), "SBX311",
			devcontainer.Memory{"f/devcontainer-feature.json": feature}},
		{"Feature with the engine's socket", image(`"features": {"./f": {}}`), "SBX401",
			devcontainer.Memory{".devcontainer/f/install.sh": "",
				".devcontainer/f/devcontainer-feature.json": `{"id": "f", "mounts": [{"type": "bind", "source": ` +
					`"/var/run/docker.sock", "target": "/s"}]}`}},
		{"no lock", image(`"features": {"ghcr.io/a/b/c:1.0.0": {}}`), "SBX610", devcontainer.Memory{}},
		{"lock of another version", image(`"features": {"ghcr.io/a/b/c:1": {}}`), "SBX605",
			devcontainer.Memory{
				".devcontainer/devcontainer-lock.json": `{"features": {"ghcr.io/a/b/c:1": {"version": "2.0.0", "resolved": "ghcr.io/a/b/c@` +
					anyDigest + `", "integrity": "` + anyDigest + `"}}}`}},
		{"lock with a forged sum", image(`"features": {"ghcr.io/a/b/c:1": {}}`), "SBX605",
			devcontainer.Memory{
				".devcontainer/devcontainer-lock.json": `{"features": {"ghcr.io/a/b/c:1": {"version": "1.0.0", "resolved": "ghcr.io/a/b/c@` +
					anyDigest + `", "integrity": "sha256:0000000000000000000000000000000000000000000000000000000000000000"}}}`}},
		{"lock with a dependency", image(`"features": {"ghcr.io/a/b/c:1": {}}`), "",
			devcontainer.Memory{".devcontainer/devcontainer-lock.json": `{"features": {"ghcr.io/a/b/c:1": {"version": "1.0.0", "resolved": "x@` +
				anyDigest + `", "integrity": "` + anyDigest +
				`", "dependsOn": ["ghcr.io/a/b/d"]}, "ghcr.io/a/b/d": {"version": "1.0.0", "resolved": "x@` + anyDigest +
				`", "integrity": "` + anyDigest + `"}}}`}},
		{"lock with a leftover", image(`"features": {"ghcr.io/a/b/c:1": {}}`), "SBX605",
			devcontainer.Memory{".devcontainer/devcontainer-lock.json": `{"features": {"ghcr.io/a/b/c:1": {"version": "1.0.0", "resolved": "x@` +
				anyDigest + `", "integrity": "` + anyDigest + `"}, "ghcr.io/a/b/d": {"version": "1.0.0", "resolved": "x@` + anyDigest +
				`", "integrity": "` + anyDigest + `"}}}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			findings := check(t, tt.src, tt.tree)
			if got := reported(findings); got != tt.want {
				t.Errorf("got %q, want %q: %v", got, tt.want, findings)
			}
		})
	}
}
