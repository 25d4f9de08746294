package lint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/org"
)

// allForbidden forbids one thing of each kind that a variable, a path or another file could hide.
const allForbidden = `{"capabilities": {"forbid": ["NET_RAW"]}, "properties": {"forbid": ["privileged"]},
	"mounts": {"forbid": ["/etc", "~/.ssh"]}, "registries": {"forbid": ["evil.io"]}, "extensions": {"allow": ["acme.*"]}}`

// policyCase is a configuration with the files around it.
type policyCase struct {
	src, want string
	tree      devcontainer.Memory
}

func (c policyCase) check(t *testing.T, policy string) {
	t.Helper()
	parsed, findings := org.Parse("org.jsonc", []byte(policy))
	if parsed == nil {
		t.Fatal(findings)
	}
	dir := t.TempDir()
	tree := devcontainer.Memory{".git/HEAD": "", ".devcontainer/devcontainer.json": c.src}
	for name, text := range c.tree {
		tree[name] = text
	}
	for name, text := range tree {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "link")); err != nil {
		t.Skip("links are not possible here:", err)
	}
	err := new(devcontainer.Opener).Open(filepath.Join(dir, ".devcontainer", "devcontainer.json"), func(p *devcontainer.Project) error {
		p.Org = parsed
		found := lint.Check(p)
		got, _ := ofPolicy(found)
		for _, f := range found {
			if f.Rule == "SBX109" && !strings.HasPrefix(got, f.Rule) {
				got = strings.TrimSpace(f.Rule + " " + got)
			}
		}
		if got != c.want {
			t.Errorf("%s %v: got %q, want %q: %v", c.src, c.tree, got, c.want, found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A word that becomes what a policy forbids when the host does not set a variable in it is that word.
func TestAttackVariablesInWords(t *testing.T) {
	const feature = ".devcontainer/f/devcontainer-feature.json"
	args := func(words string) string { return image(`"runArgs": [` + words + `]`) }
	built := func(options string) string {
		return `{"build": {"dockerfile": "Dockerfile", "options": [` + options + `]}}`
	}
	file := devcontainer.Memory{".devcontainer/Dockerfile": "ARG I=acme.io/a\nFROM $I AS a\nFROM b.io/c\n",
		".devcontainer/Other": "FROM evil.io/x\n"}
	for _, c := range []policyCase{
		{args(`"--pri${localEnv:X:vileged}"`), "SBX414 SBX416", nil},
		{args(`"${localEnv:X:--privileged}"`), "SBX414 SBX416", nil},
		{args(`"--privileged=tr${env:X}ue"`), "SBX414 SBX416", nil},
		{args(`"--cap-${localEnv:X:add}=NET_RAW"`), "SBX414", nil},
		{args(`"--cap-add", "NET_${localEnv:X}RAW"`), "SBX414", nil},
		{args(`"--vol${localEnv:X}ume=/etc:/x"`), "SBX415", nil},
		{args(`"-v/e${localEnv:X}tc:/x"`), "SBX415", nil},
		{args(`"--mount", "${localEnv:X:type=bind},source=/etc,target=/x"`), "SBX415", nil},
		{args(`"--mount", "type=bind,sour${localEnv:X}ce=/etc,target=/x"`), "SBX415", nil},
		{args(`"--mount", "type=volume,source=v,target=/x,volume-opt=device=/e${localEnv:X}tc"`), "SBX415", nil},
		{`{"image": "a:1", "workspaceFolder": "/etc", "runArgs": ["-v", "${containerWorkspaceFolder}:/x"]}`, "SBX415", nil},
		{image(`"capAdd": ["${localEnv:X:NET_RAW}"]`), "SBX414", nil},
		{image(`"mounts": [{"source": "${localEnv:HOME}/.${localEnv:X:ssh}", "target": "/x", "type": "bind"}]`), "SBX415", nil},
		{image(`"workspaceFolder": "/x", "workspaceMount": "source=/e${localEnv:X}tc,target=/x,type=bind"`), "SBX415", nil},
		{image(`"customizations": {"vscode": {"extensions": ["acme.${localEnv:X:a}"]}}`), "SBX607", nil},
		{image(`"features": {"./f": {}}`), "SBX414",
			devcontainer.Memory{feature: `{"id": "f", "version": "1.0.0", "capAdd": ["NET_${localEnv:X}RAW"]}`}},
		{args(`"--label", "devcontainer.meta${localEnv:X}data={\"privileged\": true}"`), "SBX414 SBX416", nil},
		{args(`"--label", "devcontainer.metadata={\"capAdd\": [\"${localEnv:X:NET_RAW}\"]}"`), "SBX414", nil},
		{args(`"--label-file=l"`), "SBX109", nil},
		{built(`"--cache-f${localEnv:X}rom=evil.io/x"`), "SBX606", file},
		{built(`"--build-arg", "I=evil.io/x", "--target=a"`), "SBX606", file},
		{built(`"-qf", "Other"`), "SBX109", file},
		{built(`"--file=Other"`), "SBX109", file},
	} {
		c.check(t, allForbidden)
	}
}

// The same of Compose files, with the paths that only Compose has.
func TestAttackVariablesInCompose(t *testing.T) {
	for rest, want := range map[string]string{
		"privileged: 'tr${X}ue'": "SBX414 SBX416", "cap_add: ['NET_${X}RAW']": "SBX414", "volumes: ['/e${X}tc:/x']": "SBX415",
		"volumes: [{type: bind, source: '/e$X/tc', target: /x}]": "", "volumes: [{type: bind, source: '/e${X}tc', target: /x}]": "SBX415",
		"volumes: ['../../../../etc:/x']": "SBX415", "volumes: ['${PWD}/../../etc:/x']": "SBX415", "volumes: ['../link:/x']": "SBX415",
		"volumes: ['${PWD}/link:/x']": "SBX415", "volumes: ['..:/w', '../..:/all', '${SSH_AUTH_SOCK}:/s', '${X}x:/v']": "",
		"volumes: [{type: image, source: evil.io/x, target: /x}]":                                            "SBX606",
		"volumes: ['v:/x']}}\nvolumes: {v: {driver_opts: {type: overlay, o: 'lowerdir=/a', device: overlay}": "SBX415",
		"volumes: ['v:/x']}}\nvolumes: {v: {driver_opts: {type: none, o: bind, device: '/e${X}tc'}":          "SBX415",
		"secrets: [k]}}\nsecrets: {k: {file: '/e${X}tc/shadow'":                                              "SBX415",
		"build: {context: ., dockerfile: 'Ev${X}il'}":                                                        "SBX109 SBX606",
		"build: {context: ., additional_contexts: {b: '${X}docker-image://evil.io/x'}}":                      "SBX606",
	} {
		policyCase{composed, want, devcontainer.Memory{".devcontainer/c.yml": "services: {s: {image: a, " + rest + "}}\n",
			".devcontainer/Evil": "FROM evil.io/x\n", ".devcontainer/Dockerfile": "FROM b\n"}}.check(t, allForbidden)
	}
	for included, want := range map[string]string{"{path: i.yml, project_directory: /}": "SBX415", "i.yml": ""} {
		policyCase{composed, want, devcontainer.Memory{".devcontainer/c.yml": "include: [" + included + "]\nservices: {s: {image: a}}\n",
			".devcontainer/i.yml": "services: {i: {image: a, volumes: ['./etc:/x']}}\n"}}.check(t, allForbidden)
	}
	policyCase{composed, "SBX414", devcontainer.Memory{".devcontainer/c.yml": "services: {s: {image: a, cap_add: ['${X:-CHOWN}']}}\n",
		".devcontainer/.env": "\ufeffX=NET_RAW\n"}}.check(t, allForbidden)
}

// Another way to a folder that a policy forbids is one to it; usual mounts are none.
func TestAttackWaysToAFolder(t *testing.T) {
	for source, want := range map[string]string{
		"/etc/x": "SBX415", "/": "SBX415", "/etcetera": "",
		"${localWorkspaceFolder}/link": "SBX415", "${localWorkspaceFolder}/link/ssh": "SBX415",
		"${localWorkspaceFolder}/../../etc": "SBX415", "${localWorkspaceFolder}/../sibling": "", "${localWorkspaceFolder}/..": "",
		"${localWorkspaceFolder}/../..": "SBX415", "${localWorkspaceFolder}/new": "", "${localEnv:HOME}": "SBX415",
		"${localEnv:HOME}/.cache": "", "${localEnv:HOME}/../u/.ssh": "SBX415", "${localEnv:USERPROFILE:/etc}": "SBX415",
		"/${localEnv:HOME}/.ssh": "SBX415", "/root/.ssh": "SBX415", "/home/${localEnv:USER}/.ssh": "SBX415", "/home/${localEnv:USER}": "SBX415",
		"/home/${localEnv:USER}/.config": "", "/home": "SBX415", "/home/u/.sshd": "", "${localEnv:OLDPWD}/.ssh": "SBX415",
		"${localEnv:SHELL}/../../etc": "SBX415", "${localEnv:SSH_AUTH_SOCK}": "", "${localEnv:XDG_RUNTIME_DIR}/pulse": "",
		"${localWorkspaceFolder}x/../../etc": "SBX415", "${localWorkspaceFolder}x/y": "", `${localWorkspaceFolder}/a\\..\\..\\..\\etc`: "SBX415",
		"/proc/1/root/etc": "SBX415", "/proc/self/cwd": "SBX415", "/proc/cpuinfo": "",
	} {
		policyCase{image(fmt.Sprintf(`"mounts": ["type=bind,source=%s,target=/x"]`, source)), want, nil}.check(t, allForbidden)
	}
	for words, want := range map[string]string{
		`"--mount=type=image,source=evil.io/x,target=/x"`: "SBX606", `"--mount=type=glob,source=/e*,target=/x"`: "SBX415",
		`"--mount=type=volume,source=v,target=/x,volume-opt=type=overlay,\"volume-opt=o=lowerdir=/etc,upperdir=/u,workdir=/w\""`: "SBX415",
		`"-v", "${localEnv:USER}-cache:/x"`: "", `"--name=${localWorkspaceFolderBasename}"`: "",
	} {
		policyCase{image(`"runArgs": [` + words + `]`), want, nil}.check(t, allForbidden)
	}
	policyCase{image(`"mounts": ["type=bind,source=/var/run/x,target=/x"]`), "SBX415", nil}.check(t, `{"mounts": {"forbid": ["/run/x"]}}`)
	policyCase{image(`"mounts": ["type=bind,source=/run/lock/x,target=/x"]`), "SBX415", nil}.check(t, `{"mounts": {"forbid": ["/var/lock"]}}`)
	for entry, want := range map[string]string{"/home": "SBX415", "/root/.ssh": "SBX415", "/home/u/.ssh": "SBX415", "/home/u/.cache": ""} {
		policyCase{image(`"mounts": ["type=bind,source=${localEnv:HOME}/.ssh,target=/x"]`), want, nil}.
			check(t, `{"mounts": {"forbid": ["`+entry+`"]}}`)
	}
	policyCase{image(`"mounts": ["type=bind,source=/srv/${localEnv:X},target=/x"]`), "SBX415", nil}.check(t, `{"mounts": {"allow": ["/srv"]}}`)
}

// A builder without BuildKit has neither here-documents nor other ways to leave a stage's triggers undone.
func TestAttackOtherBuilders(t *testing.T) {
	for rest, want := range map[string]string{
		"RUN true <<\"ENV A=1\"\nCOPY --from=evil.io/x /a /b\nENV A=1\n": "SBX109",
		"RUN cat <<EOF\nCOPY --from=evil.io/x /a /b\nEOF\n":              "",
		"ONBUILD COPY --from=evil.io/x /a /b\nFROM a\n":                  "SBX109 SBX606",
		"LABEL devcontainer${N:-.metadata}='{\"privileged\": true}'\n":   "SBX109 SBX414 SBX416",
	} {
		policyCase{`{"build": {"dockerfile": "Dockerfile"}}`, want, devcontainer.Memory{".devcontainer/Dockerfile": "FROM b AS a\n" + rest}}.
			check(t, allForbidden)
	}
}
