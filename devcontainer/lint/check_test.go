package lint_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/diag"
)

// sandbox is a configuration that holds; the tests of the contract break one
// promise at a time.
const sandbox = `{
  "image": "a:1",
  "overrideCommand": false,
  "remoteUser": "agent",
  "capAdd": ["NET_ADMIN"],
  "securityOpt": ["no-new-privileges"],
  "mounts": [
    "type=bind,source=${localWorkspaceFolder}/.devcontainer,target=${containerWorkspaceFolder}/.devcontainer,readonly",
    "type=bind,source=${localWorkspaceFolder}/.git,target=${containerWorkspaceFolder}/.git",
    "type=bind,source=${localWorkspaceFolder}/.git/hooks,target=${containerWorkspaceFolder}/.git/hooks,readonly",
    "type=bind,source=${localWorkspaceFolder}/.git/config,target=${containerWorkspaceFolder}/.git/config,readonly"
  ]
}`

// around is what lies around the sandbox: its settings, and a repository.
func around() devcontainer.Memory {
	return devcontainer.Memory{".devcontainer/sandbox.jsonc": "{}", ".git/HEAD": ""}
}

// check judges src as the configuration of tree.
func check(t testing.TB, src string, tree devcontainer.Memory) []diag.Finding {
	t.Helper()
	const name = ".devcontainer/devcontainer.json"
	tree[name] = src
	p, err := devcontainer.Load(tree, name, "f")
	if err != nil {
		t.Fatal(err)
	}
	return lint.Check(p)
}

// alone judges src with nothing known around it.
func alone(src string) []diag.Finding {
	return lint.Check(devcontainer.Parse("f", []byte(src)))
}

// with returns the sandbox with old replaced.
func with(t *testing.T, old, replacement string) string {
	t.Helper()
	if !strings.Contains(sandbox, old) {
		t.Fatalf("no %q in the sandbox", old)
	}
	return strings.Replace(sandbox, old, replacement, 1)
}

func reported(findings []diag.Finding) string {
	var ids []string
	for _, f := range findings {
		if f.Rule == "SBX506" || f.Rule == "SBX601" {
			continue // advice on every one of these
		}
		ids = append(ids, f.Rule)
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), " ")
}

func TestASandboxThatHoldsHasNoFinding(t *testing.T) {
	if findings := check(t, sandbox, around()); reported(findings) != "" {
		t.Error(findings)
	}
}

// image wraps one property into a configuration that is otherwise fine.
// digest is one that no image has.
var digest = "@sha256:" + strings.Repeat("0", 64)

// pinned is an image that nothing is said about.
var pinned = "a" + digest

func image(property string) string { return `{"image": "a:1", ` + property + `}` }

func TestHostRules(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"socket as text", image(`"mounts": ["source=/var/run/docker.sock,target=/var/run/docker.sock,type=bind"]`), "SBX401"},
		{"socket, src and dst", image(`"mounts": ["type=bind,src=/run/docker.sock,dst=/x"]`), "SBX401"},
		{"socket as object", image(`"mounts": [{"type": "bind", "source": "/var/run/docker.sock", "target": "/s"}]`), "SBX401"},
		{"socket by -v in one word", image(`"runArgs": ["-v/var/run/docker.sock:/s"]`), "SBX401"},
		{"socket by -v in two words", image(`"runArgs": ["-v", "/var/run/docker.sock:/s:ro"]`), "SBX401"},
		{"socket behind other switches", image(`"runArgs": ["-itv", "/var/run/docker.sock:/s"]`), "SBX401"},
		{"socket by --volume=", image(`"runArgs": ["--volume=/var/run/docker.sock:/s"]`), "SBX401"},
		{"socket by --mount", image(`"runArgs": ["--mount", "type=bind,source=/var/run/docker.sock,target=/s"]`), "SBX401"},
		{"socket by workspaceMount", image(`"workspaceFolder": "/w", "workspaceMount": "source=/var/run/docker.sock,target=/w,type=bind"`),
			"SBX401"},
		{"socket by a longer way", image(`"runArgs": ["-v", "//var/../run/./docker.sock:/s"]`), "SBX401"},
		{"socket as a variable's default", image(`"mounts": ["type=bind,source=${localEnv:SOCK:/var/run/docker.sock},target=/s"]`), "SBX401"},
		{"the folder of the socket", image(`"mounts": ["type=bind,source=/var/run,target=/host/run"]`), "SBX401"},
		{"rootless socket", image(`"mounts": ["type=bind,source=${localEnv:XDG_RUNTIME_DIR}/docker.sock,target=/s"]`), "SBX401"},
		{"podman", image(`"mounts": ["type=bind,source=/run/user/1000/podman/podman.sock,target=/s"]`), "SBX401"},
		{"containerd", image(`"runArgs": ["-v", "/run/containerd/containerd.sock:/s"]`), "SBX401"},
		{"named pipe", image(`"mounts": ["type=npipe,source=\\\\.\\pipe\\docker_engine,target=\\\\.\\pipe\\docker_engine"]`), "SBX401"},
		{"socket by DOCKER_HOST", image(`"remoteEnv": {"DOCKER_HOST": "tcp://host.docker.internal:2375"}`), "SBX401"},
		{"DOCKER_HOST by -e", image(`"runArgs": ["-e", "DOCKER_HOST=tcp://x:2375"]`), "SBX401"},
		{"socket behind quotes of CSV", image(`"mounts": ["type=bind,\"source=/var/run/docker.sock\",target=/s"]`), "SBX401"},
		{"socket by a volume's device",
			image(`"mounts": ["type=volume,source=v,target=/s,volume-opt=type=none,volume-opt=o=bind,volume-opt=device=/var/run"]`), "SBX401"},
		{"root of the host by a volume's device",
			image(`"runArgs": ["--mount", "source=v,target=/s,\"volume-opt=o=bind,ro\",volume-opt=device=/"]`), "SBX407"},
		{"volume of a file server",
			image(`"mounts": ["source=v,target=/s,volume-opt=type=nfs,volume-opt=device=:/srv,volume-opt=o=addr=192.0.2.1"]`), ""},
		{"no socket", image(`"mounts": ["type=volume,source=docker.sock-cache,target=/c"]`), ""},

		{"privileged", image(`"privileged": true`), "SBX402"},
		{"privileged as text is true: one mistake", image(`"privileged": "false"`), "SBX301"},
		{"privileged as text, mistake excused", "{\"image\": \"a:1\",\n// sbx-ignore SBX301: x\n\"privileged\": \"true\"}", "SBX402"},
		{"privileged the second time", `{"image": "a:1", "privileged": false, "privileged": true}`, "SBX102 SBX402"},
		{"privileged by runArgs", image(`"runArgs": ["--privileged"]`), "SBX402"},
		{"privileged by runArgs, spelled out", image(`"runArgs": ["--privileged=T"]`), "SBX402"},
		{"not privileged", image(`"privileged": false, "runArgs": ["--privileged=false"]`), ""},
		{"a word that is a value", image(`"runArgs": ["--env", "--privileged"]`), ""},
		{"a word that is a label", image(`"runArgs": ["--label", "--privileged"]`), ""},
		{"a number between", image(`"runArgs": ["--cpus", 2, "--privileged"]`), "SBX202 SBX402"},
		{"letters behind each other", image(`"runArgs": ["-itv=/var/run/docker.sock:/s"]`), "SBX401"},
		{"socket by the engine's own switch", image(`"runArgs": ["--use-api-socket"]`), "SBX401"},
		{"the last word on it", image(`"runArgs": ["--privileged", "--privileged=false"]`), ""},
		{"behind an image", image(`"runArgs": ["debian", "--privileged"]`), "SBX321"},
		{"by a variable's default", image(`"runArgs": ["--privileged=${localEnv:P:true}"]`), "SBX402"},
		{"a text where a list belongs", image(`"runArgs": "--privileged"`), "SBX202"},
		{"an option that nobody knows", image(`"runArgs": ["--new-option", "--privileged"]`), "SBX321 SBX402"},

		{"capability", image(`"capAdd": ["SYS_ADMIN"]`), "SBX403"},
		{"capability, other spelling", image(`"capAdd": ["cap_sys_admin"]`), "SBX403"},
		{"all capabilities by runArgs", image(`"runArgs": ["--cap-add", "all"]`), "SBX403"},
		{"debugger", image(`"runArgs": ["--cap-add=SYS_PTRACE", "--security-opt", "seccomp=unconfined"]`), "SBX403 SBX405"},
		{"harmless capability", image(`"capAdd": ["NET_BIND_SERVICE", "NET_ADMIN"]`), ""},

		{"host network", image(`"runArgs": ["--network=host"]`), "SBX404"},
		{"host network, old name", image(`"runArgs": ["--net", "host"]`), "SBX404"},
		{"host processes", image(`"runArgs": ["--pid=host"]`), "SBX404"},
		{"another network", image(`"runArgs": ["--network=project"]`), "SBX321"},

		{"seccomp with a colon", image(`"securityOpt": ["seccomp:unconfined"]`), "SBX405"},
		{"apparmor", image(`"securityOpt": ["apparmor=unconfined"]`), "SBX405"},
		{"label", image(`"runArgs": ["--security-opt=label=disable"]`), "SBX405"},
		{"own seccomp profile", image(`"securityOpt": ["seccomp=profile.json"]`), ""},

		{"root of the host", image(`"mounts": ["type=bind,source=/,target=/host"]`), "SBX407"},
		{"etc", image(`"runArgs": ["-v", "/etc:/host/etc:ro"]`), "SBX407"},
		{"time zone", image(`"runArgs": ["-v", "/etc/localtime:/etc/localtime:ro"]`), ""},
		{"home", image(`"mounts": ["type=bind,source=${localEnv:HOME}${localEnv:USERPROFILE},target=/h"]`), "SBX407"},
		{"ssh keys", image(`"mounts": ["type=bind,source=${localEnv:HOME}/.ssh,target=/home/x/.ssh,readonly"]`), "SBX407"},
		{"ssh keys by a longer way", image(`"mounts": ["type=bind,source=${localEnv:HOME}/a/../.ssh/,target=/s"]`), "SBX407"},
		{"ssh keys written out", image(`"runArgs": ["-v", "/home/me/.ssh:/s"]`), "SBX335 SBX407"},
		{"above the workspace", image(`"mounts": ["type=bind,source=${localWorkspaceFolder}/..,target=/all"]`), "SBX407"},
		{"a cache at home", image(`"mounts": ["type=bind,source=${localEnv:HOME}/.cache/go-build,target=/c"]`), ""},
		{"below the workspace", image(`"mounts": ["type=bind,source=${localWorkspaceFolder}/data,target=/data"]`), ""},

		{"initializeCommand", image(`"initializeCommand": "make"`), "SBX408"},
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

// A file that says in plain words that it hands in the engine is not told so as
// an error, unless it keeps a sandbox or lets an agent in; what the engine's
// owner does not need stays an error.
func TestEngineGivenOnPurpose(t *testing.T) {
	const feature = `"features": {"ghcr.io/devcontainers/features/docker-outside-of-docker:1.6.0": {}}, `
	const opened = `"mounts": ["type=bind,source=/var/run/docker.sock,target=/s", "type=bind,source=${localEnv:HOME}/.kube,target=/k"], ` +
		`"initializeCommand": "make"`
	for _, tt := range []struct {
		name, src, want string
		tree            devcontainer.Memory
	}{
		{"on purpose", image(feature + opened), "", devcontainer.Memory{}},
		{"nobody says so", image(opened), "SBX401 SBX407 SBX408", devcontainer.Memory{}},
		{"another Feature of that name's kind", image(`"features": {"ghcr.io/devcontainers/features/docker-in-docker:2.12.0": {}}, ` + opened),
			"SBX401 SBX407 SBX408", devcontainer.Memory{}},
		{"more than that", image(feature + `"privileged": true, "runArgs": ["--pid=host"], ` + opened), "SBX402 SBX404", devcontainer.Memory{}},
		{"with an agent",
			image(feature + `"securityOpt": ["no-new-privileges"], "postCreateCommand": "npm install -g @anthropic-ai/claude-code@2.1.329", ` +
				opened), "SBX401 SBX407 SBX408 SBX412", devcontainer.Memory{}},
		{"in a sandbox",
			strings.Replace(sandbox, `"mounts": [`,
				feature+`"initializeCommand": "make", "mounts": ["type=bind,source=/var/run/docker.sock,target=/s",`, 1),
			"SBX401 SBX408 SBX412", around()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := reported(alarms(check(t, tt.src, tt.tree))); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSecretRules(t *testing.T) {
	// Put together here, so that no scanner takes this file for a leak.
	key := "sk-ant-" + "api03-AAAAAAAAAAAAAAAA"
	tests := []struct{ name, src, want string }{
		{"known form", image(`"containerEnv": {"X": "` + key + `"}`), "SBX501"},
		{"in remoteEnv", image(`"remoteEnv": {"ANTHROPIC_API_KEY": "` + key + `"}`), "SBX501"},
		{"in runArgs", image(`"runArgs": ["-e", "X=` + key + `"]`), "SBX501"},
		{"in build.args", `{"build": {"dockerfile": "D", "args": {"NPM_TOKEN": "a1b2c3d4e5f6a7b8c9d0e1f2"}}}`, "SBX501"},
		{"example password", image(`"containerEnv": {"POSTGRES_PASSWORD": "postgres"}`), ""},
		{"a path", image(`"containerEnv": {"TOKEN_FILE": "/run/secrets/token"}`), ""},
		{"from the host, inspectable", image(`"containerEnv": {"ANTHROPIC_API_KEY": "${localEnv:ANTHROPIC_API_KEY}"}`), "SBX502"},
		{"from the host, for the session", image(`"remoteEnv": {"ANTHROPIC_API_KEY": "${localEnv:ANTHROPIC_API_KEY}"}`), "SBX503"},
		{"as a build argument", `{"build": {"dockerfile": "D", "args": {"NPM_TOKEN": "${localEnv:NPM_TOKEN}"}}}`, "SBX504"},
		{"variables of the repository", image(`"runArgs": ["--env-file", "${localWorkspaceFolder}/.env"]`), "SBX505"},
		{"variables from outside", image(`"runArgs": ["--env-file", "${localEnv:HOME}/dev.env"]`), ""},
		{"something else from the host", image(`"containerEnv": {"LANG": "${localEnv:LANG}"}`), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			findings := alone(tt.src)
			if got := reported(findings); got != tt.want {
				t.Errorf("%s\ngot %q, want %q: %v", tt.src, got, tt.want, findings)
			}
			for _, f := range findings {
				if strings.Contains(f.Message+f.Hint, key) {
					t.Errorf("the finding shows the key: %v", f)
				}
			}
		})
	}
}

func TestContractRules(t *testing.T) {
	tests := []struct {
		name   string
		src    string
		change func(devcontainer.Memory)
		want   string
	}{
		{"no NET_ADMIN", with(t, `"capAdd": ["NET_ADMIN"],`, ""), nil, "SBX801"},
		{"NET_ADMIN by runArgs", with(t, `"capAdd": ["NET_ADMIN"],`, `"runArgs": ["--cap-add=net_admin"],`), nil, ""},
		{"entrypoint replaced by default", with(t, `"overrideCommand": false,`, ""), nil, "SBX802"},
		{"entrypoint replaced", with(t, `"overrideCommand": false`, `"overrideCommand": true`), nil, "SBX802"},
		{"entrypoint replaced by a text", with(t, `"overrideCommand": false`, `"overrideCommand": "false"`), nil, "SBX301"},
		{"firewall in a hook",
			with(t, `"overrideCommand": false`, `"waitFor": "postStartCommand", "postStartCommand": "sudo /usr/local/bin/init-firewall.sh"`), nil,
			"SBX803 SBX824"},
		{"nobody waits for the firewall", with(t, `"overrideCommand": false`, `"postStartCommand": "sudo /usr/local/bin/init-firewall.sh"`), nil,
			"SBX803 SBX804 SBX824"},
		{"tools wait for less", with(t, `"overrideCommand": false`, `"waitFor": "onCreateCommand", "postCreateCommand": "init-firewall.sh"`), nil,
			"SBX803 SBX804"},
		{"firewall in an object's hook",
			with(t, `"overrideCommand": false`,
				`"postCreateCommand": {"fw": ["sudo", "iptables", "-P", "OUTPUT", "DROP"]}, "waitFor": "postCreateCommand"`), nil, "SBX803 SBX824"},
		{"ENTRYPOINT starts something else", strings.Replace(sandbox, `"image": "a:1"`, `"build": {"dockerfile": "Dockerfile"}`, 1),
			func(m devcontainer.Memory) {
				m[".devcontainer/Dockerfile"] = "FROM " + pinned + "\nCOPY --from=x" + digest +
					" /sbx-init /sbx-init\nENTRYPOINT [\"sleep\", \"infinity\"]\n"
			}, "SBX802"},
		{"ENTRYPOINT raises the firewall", strings.Replace(sandbox, `"image": "a:1"`, `"build": {"dockerfile": "Dockerfile"}`, 1),
			func(m devcontainer.Memory) {
				m[".devcontainer/Dockerfile"] = "FROM " + pinned +
					"\nCOPY --from=ghcr.io/org/claude-sandbox-init:v1 /sbx-init /sbx-init\nENTRYPOINT [\"/sbx-init\", \"run\", " +
					"\"--policy\", \"/p\", \"--\"]\n"
			}, ""},
		{"worktree", sandbox, func(m devcontainer.Memory) {
			for name := range m {
				if strings.HasPrefix(name, ".git/") {
					delete(m, name)
				}
			}
			m[".git"] = "gitdir: /elsewhere\n"
		}, "SBX812"},
		{"editor's tasks writable", sandbox, func(m devcontainer.Memory) { m[".vscode/tasks.json"] = "{}" }, "SBX816"},
		{"root", with(t, `"remoteUser": "agent"`, `"remoteUser": "root"`), nil, "SBX805"},
		{"root by number", with(t, `"remoteUser": "agent"`, `"remoteUser": "0:0"`), nil, "SBX805"},
		{"root by another number", with(t, `"remoteUser": "agent"`, `"remoteUser": "00"`), nil, "SBX805"},
		{"root by no name", with(t, `"remoteUser": "agent"`, `"remoteUser": ""`), nil, "SBX805"},
		{"root by a variable", with(t, `"remoteUser": "agent"`, `"remoteUser": "${localEnv:SESSION:root}"`), nil, "SBX805"},
		{"root by runArgs, whatever else is said", with(t, `"remoteUser": "agent"`, `"containerUser": "agent", "runArgs": ["-itu", "root"]`), nil,
			"SBX805"},
		{"root in the value of another option",
			with(t, `"remoteUser": "agent"`, `"containerUser": "agent", "runArgs": ["--label", "--user=root"]`), nil, "SBX821"},
		{"root by default", with(t, `"remoteUser": "agent",`, ""), nil, "SBX805"},
		{"user of the Dockerfile",
			strings.Replace(with(t, `"remoteUser": "agent",`, ""), `"image": "a:1"`, `"build": {"dockerfile": "Dockerfile"}`, 1),
			func(m devcontainer.Memory) {
				m[".devcontainer/Dockerfile"] = "FROM " + pinned + "\nUSER root\nUSER agent\n"
			}, ""},
		{"setuid works", with(t, `"securityOpt": ["no-new-privileges"],`, ""), nil, "SBX805"},
		{"setuid works by a switch", with(t, `"no-new-privileges"`, `"no-new-privileges:false"`), nil, "SBX805"},
		{"setuid works by the last word", with(t, `"no-new-privileges"`, `"no-new-privileges", "no-new-privileges=false"`), nil, "SBX805"},
		{"setuid off by the last word", with(t, `"securityOpt"`, `"runArgs": ["--security-opt=no-new-privileges=false"], "securityOpt"`),
			nil, ""},
		{"the project a second time, elsewhere",
			with(t, `"overrideCommand"`, `"runArgs": ["-v", "${localWorkspaceFolder}:/mnt"], "overrideCommand"`), nil, "SBX806"},
		{"the configuration a second time, elsewhere",
			with(t, `"mounts": [`, `"mounts": ["type=bind,source=${localWorkspaceFolder}/.devcontainer,target=/mnt",`), nil, "SBX806"},
		{"git a second time, elsewhere", with(t, `"mounts": [`, `"mounts": ["type=bind,source=${localWorkspaceFolder}/.git,target=/mnt",`), nil,
			"SBX807"},
		{"the project a second time, to read",
			with(t, `"mounts": [`, `"mounts": ["type=bind,source=${localWorkspaceFolder},target=/mnt,readonly",`), nil, ""},
		{"mounts beside the workspace protect nothing",
			strings.ReplaceAll(with(t, `"overrideCommand"`,
				`"workspaceFolder": "/project", "workspaceMount": "type=bind,source=${localWorkspaceFolder},target=/project", "overrideCommand"`),
				"${containerWorkspaceFolder}", "/workspaces/${localWorkspaceFolderBasename}"), nil, "SBX806 SBX807"},
		{"mounts in the workspace, written out",
			strings.ReplaceAll(with(t, `"overrideCommand"`,
				`"workspaceFolder": "/project", "workspaceMount": "type=bind,source=${localWorkspaceFolder},target=/project/", "overrideCommand"`),
				"${containerWorkspaceFolder}", "/project"), nil, ""},
		{"mounts in the workspace by its variable",
			with(t, `"overrideCommand"`,
				`"workspaceFolder": "/project", "workspaceMount": "type=bind,source=${localWorkspaceFolder},target=/project", "overrideCommand"`),
			nil, ""},
		{"the Feature alone protects no files",
			`{"image": "a:1", "remoteUser": "dev", "features": {"ghcr.io/org/claude-sandbox/features/firewall@sha256:0": {}}}`,
			func(m devcontainer.Memory) { delete(m, ".devcontainer/sandbox.jsonc") }, "SBX806 SBX807"},
		{"another folder elsewhere", with(t, `"mounts": [`, `"mounts": ["type=bind,source=${localEnv:HOME}/data,target=/mnt",`), nil, ""},
		{"setuid off by runArgs", with(t, `"securityOpt": ["no-new-privileges"],`, `"runArgs": ["--security-opt=no-new-privileges:true"],`),
			nil, ""},
		{"devcontainer writable", with(t, "/.devcontainer,readonly", "/.devcontainer"), nil, "SBX806"},
		{"devcontainer read-only only in writing", with(t, "/.devcontainer,readonly", "/.devcontainer,readonly=false"), nil, "SBX806"},
		{"hooks writable", with(t, "/.git/hooks,readonly", "/.git/hooks"), nil, "SBX807"},
		{"config writable", with(t, "/.git/config,readonly", "/.git/config"), nil, "SBX807"},
		{"git can be renamed", with(t, `"type=bind,source=${localWorkspaceFolder}/.git,target=${containerWorkspaceFolder}/.git",`, ""), nil,
			"SBX807"},
		{"whole git read-only", with(t, "/.git\",", "/.git,readonly\","), nil, ""},
		{"workspace in a volume",
			`{"image": "a:1", "overrideCommand": false, "remoteUser": "agent", "capAdd": ["NET_ADMIN"], "securityOpt": ["no-new-privileges"],
			"workspaceFolder": "/w", "workspaceMount": "type=volume,source=w,target=/w"}`, nil, ""},
		{"no sandbox, no contract", image(`"remoteUser": "root"`), func(m devcontainer.Memory) { delete(m, ".devcontainer/sandbox.jsonc") }, ""},
		{"seen in the Dockerfile", `{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "agent"}`, func(m devcontainer.Memory) {
			clear(m)
			m[".devcontainer/Dockerfile"] = "FROM " + pinned + "\nCOPY --from=x /sbx-init /sbx-init\n"
		}, "SBX801 SBX802 SBX805 SBX806"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree := around()
			if tt.change != nil {
				tt.change(tree)
			}
			findings := check(t, tt.src, tree)
			if got := reported(findings); got != tt.want {
				t.Errorf("got %q, want %q: %v", got, tt.want, findings)
			}
		})
	}
}

// A .devcontainer.json lies in the project's folder, and a git repository may
// lie above that: the CLI then mounts the repository.
func TestContractFollowsThePlaces(t *testing.T) {
	without := func(parts ...string) string {
		src := sandbox
		for _, p := range parts {
			src = strings.Replace(src, p, "", 1)
		}
		return src
	}
	git := sandbox[strings.Index(sandbox, `,
    "type=bind,source=${localWorkspaceFolder}/.git,`):strings.Index(sandbox, "\n  ]")]
	for _, tt := range []struct {
		name, file, src, want string
		tree                  devcontainer.Memory
	}{
		{"configuration outside .devcontainer", ".devcontainer.json", without("x"), "SBX806",
			devcontainer.Memory{"sandbox.jsonc": "{}", ".git/HEAD": "", ".devcontainer/x": ""}},
		{"repository above", "sub/.devcontainer/devcontainer.json", without(git), "SBX807",
			devcontainer.Memory{"sub/.devcontainer/sandbox.jsonc": "{}", ".git/HEAD": ""}},
		{"no repository", "sub/.devcontainer/devcontainer.json", without(git), "", devcontainer.Memory{"sub/.devcontainer/sandbox.jsonc": "{}"}},
		{"a folder of a configuration", ".devcontainer/go/devcontainer.json", without("x"), "",
			devcontainer.Memory{".devcontainer/go/sandbox.jsonc": "{}", ".git/HEAD": ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.tree[tt.file] = tt.src
			p, err := devcontainer.Load(tt.tree, tt.file, "f")
			if err != nil {
				t.Fatal(err)
			}
			if got := reported(lint.Check(p)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// An object mount says readonly and is not: what looks protected is open.
func TestReadonlyOfAnObjectMountDoesNotCount(t *testing.T) {
	src := with(t, `"type=bind,source=${localWorkspaceFolder}/.devcontainer,target=${containerWorkspaceFolder}/.devcontainer,readonly"`,
		`{"type": "bind", "source": "${localWorkspaceFolder}/.devcontainer", "target": `+
			`"${containerWorkspaceFolder}/.devcontainer", "readonly": true}`)
	if got := reported(check(t, src, around())); got != "SBX302 SBX806" {
		t.Errorf("got %q", got)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(sandbox))
	f.Add([]byte(image(`"runArgs": ["-v"], "mounts": [{"type": 1}, null], "privileged": {}`)))
	f.Add([]byte(`{"mounts": "x", "build": [], "capAdd": {"a": 1}, "hostRequirements": {"cpus": 1e99}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, finding := range check(t, string(src), around()) {
			if finding.Line < 1 || finding.Column < 1 || finding.EndLine < finding.Line || finding.Message == "" {
				t.Fatalf("badly placed: %+v", finding)
			}
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	b.SetBytes(int64(len(sandbox)))
	for b.Loop() {
		check(b, sandbox, around())
	}
}
