package lint_test

import (
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/org"
	"github.com/org/claude-sandbox/internal/diag"
)

// ofPolicy keeps what a policy says.
func ofPolicy(findings []diag.Finding) (ids string, first diag.Finding) {
	var kept []diag.Finding
	for _, f := range findings {
		if strings.Contains("SBX414 SBX415 SBX416 SBX606 SBX607 SBX611", f.Rule) {
			kept = append(kept, f)
		}
	}
	if len(kept) > 0 {
		first = kept[0]
	}
	return reported(kept), first
}

func TestPolicyOfAnOrganisation(t *testing.T) {
	const digest = "@" + anyDigest
	for _, tt := range []struct{ name, policy, src, want string }{
		{"empty policy", `{}`, image(`"privileged": true`), ""},
		{"registry", `{"registries": {"allow": ["ghcr.io/acme"]}}`, `{"image": "ghcr.io/acme/tools/go:1` + digest + `"}`, ""},
		{"registry of a look-alike", `{"registries": {"allow": ["ghcr.io/acme"]}}`, `{"image": "ghcr.io/acme-evil/go:1"}`, "SBX606"},
		{"registry as a prefix of a host", `{"registries": {"allow": ["ghcr.io"]}}`, `{"image": "ghcr.io.evil.example/go:1"}`, "SBX606"},
		{"Docker Hub by its short name", `{"registries": {"allow": ["ghcr.io"]}}`, `{"image": "debian:13"}`, "SBX606"},
		{"Docker Hub's users", `{"registries": {"forbid": ["docker.io/*"], "allow": ["*"]}}`, `{"image": "user/x:1"}`, "SBX606"},
		{"case of the host", `{"registries": {"forbid": ["GHCR.io"]}}`, `{"image": "GhCr.IO/x/y:1"}`, "SBX606"},
		{"Feature's registry", `{"registries": {"allow": ["docker.io"]}}`, image(`"features": {"ghcr.io/a/b/c:1": {}}`), "SBX606"},
		{"local Feature", `{"registries": {"allow": ["docker.io"]}}`, image(`"features": {"./c": {}}`), ""},
		{"Feature by its last part", `{"features": {"forbid": ["docker-in-docker"]}}`,
			image(`"features": {"ghcr.io/other/docker-in-docker@sha256:0": {}}`), "SBX611"},
		{"Feature required", `{"features": {"require": ["ghcr.io/acme/features/ca"]}}`,
			image(`"features": {"ghcr.io/acme/features/ca:1": {}}`), ""},
		{"Feature missing", `{"features": {"require": ["ghcr.io/acme/features/ca"]}}`,
			image(`"features": {"ghcr.io/evil/features/ca:1": {}}`), "SBX611"},
		{"capability in lower case", `{"capabilities": {"forbid": ["NET_RAW"]}}`, image(`"capAdd": ["cap_net_raw"]`), "SBX414"},
		{"capability by runArgs", `{"capabilities": {"allow": []}}`, image(`"runArgs": ["--cap-add", "CHOWN"]`), "SBX414"},
		{"extension", `{"extensions": {"allow": ["ms-python.*"]}}`,
			image(`"customizations": {"vscode": {"extensions": ["MS-Python.python@1.0", "-x.y"]}}`), ""},
		{"extension of another", `{"extensions": {"allow": ["ms-python.*"]}}`,
			image(`"customizations": {"vscode": {"extensions": ["evil.ms-python.x"]}}`), "SBX607"},
		{"extension missing", `{"extensions": {"require": ["a.b"]}}`, image(`"name": "x"`), "SBX607"},
		{"mount of the home folder", `{"mounts": {"forbid": ["~/.ssh"]}}`,
			image(`"mounts": ["type=bind,source=${localEnv:HOME}/x/../.ssh/id,target=/x"]`), "SBX415"},
		{"mount beside it", `{"mounts": {"forbid": ["~/.ssh"]}}`, image(`"mounts": ["type=bind,source=${localEnv:HOME}/.sshx,target=/x"]`), ""},
		{"mount by -v", `{"mounts": {"forbid": ["/srv/*/secret"]}}`, image(`"runArgs": ["-v", "/srv/a/secret/b:/x"]`), "SBX415"},
		{"mount of the project", `{"mounts": {"allow": []}}`,
			image(`"mounts": ["type=bind,source=${localWorkspaceFolder}/x,target=/x", "type=volume,source=v,target=/v"]`), ""},
		{"mount in a field of another", `{"mounts": {"forbid": ["/etc"]}}`,
			image(`"mounts": [{"source": "v", "target": "/x,type=bind,source=/etc", "type": "volume"}]`), "SBX415"},
		{"mount outside the project", `{"mounts": {"allow": []}}`, image(`"mounts": ["type=bind,source=${localWorkspaceFolder}/../x,target=/x"]`),
			"SBX415"},
		{"property", `{"properties": {"forbid": ["privileged", "initializeCommand"]}}`,
			image(`"privileged": false, "initializeCommand": "x"`), "SBX416"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			org, findings := org.Parse("org.jsonc", []byte(tt.policy))
			if org == nil {
				t.Fatal(findings)
			}
			p := devcontainer.Parse("f", []byte(tt.src))
			p.Org = org
			got, first := ofPolicy(lint.Check(p))
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if tt.want != "" && !strings.HasPrefix(first.Hint, "org.jsonc:1:") {
				t.Errorf("the place in the policy is missing: %+v", first)
			}
		})
	}
}

func TestPolicyReachesTheOtherFiles(t *testing.T) {
	org, _ := org.Parse("org.jsonc",
		[]byte(`{"registries": {"allow": ["ghcr.io/acme"]}, "capabilities": {"allow": []}, "mounts": {"allow": []}}`))
	for _, tt := range []struct {
		name, src, want string
		tree            devcontainer.Memory
	}{
		{"Dockerfile", `{"build": {"dockerfile": "Dockerfile"}}`, "SBX606",
			devcontainer.Memory{".devcontainer/Dockerfile": "FROM debian:13 AS a\nFROM a\n"}},
		{"Compose", `{"dockerComposeFile": "c.yml", "service": "s", "workspaceFolder": "/"}`, "SBX414 SBX415 SBX606",
			devcontainer.Memory{".devcontainer/c.yml": "services:\n  s:\n    image: debian:13\n    cap_add: [CHOWN]\n    volumes: ['/srv:/srv']\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.tree[".devcontainer/devcontainer.json"] = tt.src
			p, err := devcontainer.Load(tt.tree, ".devcontainer/devcontainer.json", "f")
			if err != nil {
				t.Fatal(err)
			}
			p.Org = org
			if got, _ := ofPolicy(lint.Check(p)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// The metadata of a Template beside a configuration takes nothing out of the policy's reach, nor do values that its options put in.
func TestPolicyOfATemplate(t *testing.T) {
	org, _ := org.Parse("org.jsonc", []byte(`{"properties": {"forbid": ["privileged"]}}`))
	for _, tt := range []struct{ name, options, src, want string }{
		{"as it is", `{}`, `{"image": "debian:13", "privileged": true}`, "SBX416"},
		{"behind values of options", `{"o": {"type": "string", "default": "\"},\"customizations\":{\"q\":{\"x\":\""},
			"p": {"type": "string", "default": "\"}},\"name\":\""}}`,
			`{"image": "debian:13", "containerEnv": {"A": "${templateOption:o}"}, "privileged": true, ` +
				`"customizations": {"z": "${templateOption:p}"}}`,
			"SBX908"},
		{"in a comment of options", `{"o": {"type": "string", "default": "1 /*"}, "p": {"type": "string", "default": "*/ 1"}}`,
			`{"image": "debian:13", "a": ${templateOption:o}, "privileged": true, "b": ${templateOption:p}}`, "SBX908"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := devcontainer.Memory{".devcontainer/devcontainer.json": tt.src,
				"devcontainer-template.json": `{"id": "a", "version": "1.0.0", "name": "a", "options": ` + tt.options + `}`}
			p, err := devcontainer.Load(tree, "devcontainer-template.json", "devcontainer-template.json")
			if err != nil {
				t.Fatal(err)
			}
			p.Org = org
			for _, f := range lint.Check(p) {
				if f.Rule == tt.want && f.Severity == diag.SeverityError {
					return
				}
			}
			t.Errorf("%s is not found: %v", tt.want, lint.Check(p))
		})
	}
}

func TestPolicyThatIsNotValid(t *testing.T) {
	for _, src := range []string{`[]`, `{"registry": {}}`, `{"registries": {"allow": "x"}}`, `{"mounts": {"require": []}}`, `{`} {
		if org, findings := org.Parse("org.jsonc", []byte(src)); org != nil || len(findings) == 0 {
			t.Errorf("%s was taken", src)
		}
	}
}

// What the reference CLI reads and this project does not is an error, so that nothing hides in it.
func TestPolicyOfWhatIsNotRead(t *testing.T) {
	for src, want := range map[string]string{
		"{\"image\": \"debian:13\", // c\r\"privileged\": true,\n\"init\": true}": "SBX101",
		`{"dockerComposeFile": [], "service": "app", "workspaceFolder": "/w"}`:    "SBX109"} {
		for _, f := range lint.Check(devcontainer.Parse("f", []byte(src))) {
			if f.Rule == want && f.Severity == diag.SeverityError {
				want = ""
			}
		}
		if want != "" {
			t.Errorf("%q: no %s", src, want)
		}
	}
}
