package lint_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

const configName = ".devcontainer/devcontainer.json"

// load makes a project of a tree whose configuration is src.
func load(t *testing.T, tree devcontainer.Memory, src string) *devcontainer.Project {
	t.Helper()
	tree[configName] = src
	p, err := devcontainer.Load(tree, configName, configName)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// hookedFirewall is the layout that many agents' containers share: a script in
// the image, one line for sudo, and a hook that starts it.
func hookedFirewall() devcontainer.Memory {
	return devcontainer.Memory{
		".devcontainer/Dockerfile": "FROM node:24\nRUN apt-get update && apt-get install -y sudo iptables\n" +
			"COPY init-firewall.sh /usr/local/bin/\n" +
			"RUN echo \"node ALL=(root) NOPASSWD: /usr/local/bin/init-firewall.sh\" > /etc/sudoers.d/node-firewall\nUSER node\n",
		".devcontainer/init-firewall.sh": "#!/bin/bash\niptables -P OUTPUT DROP\n",
	}
}

const hookedConfig = `{
  "build": {"dockerfile": "Dockerfile"},
  "runArgs": ["--cap-add=NET_ADMIN", "--cap-add=NET_RAW"],
  "remoteUser": "node",
  "waitFor": "postStartCommand",
  HOOK
}
`

// The attack that fix was: it added no-new-privileges to containers whose
// firewall a hook raises with sudo, and they ran open from then on.
func TestFixKeepsFirewallThatNeedsSudo(t *testing.T) {
	for name, hook := range map[string]string{
		"text":               `"postStartCommand": "sudo /usr/local/bin/init-firewall.sh"`,
		"array":              `"postStartCommand": ["sudo", "/usr/local/bin/init-firewall.sh"]`,
		"object":             `"postStartCommand": {"deps": "true", "fw": "sudo -n /usr/local/bin/init-firewall.sh"}`,
		"object of arrays":   `"postCreateCommand": {"fw": ["sudo", "init-firewall.sh"]}`,
		"behind a shell":     `"postStartCommand": "bash -c 'npm ci && sudo /usr/local/bin/init-firewall.sh'"`,
		"doas":               `"onCreateCommand": "doas init-firewall.sh"`,
		"su":                 `"postCreateCommand": "su -c init-firewall.sh"`,
		"pkexec":             `"updateContentCommand": "pkexec init-firewall.sh"`,
		"in a substitution":  `"postAttachCommand": "echo $(sudo init-firewall.sh)"`,
		"program in a name":  `"postStartCommand": "SUDO=sudo; $SUDO init-firewall.sh"`,
		"not shell text":     `"postStartCommand": "if sudo init-firewall.sh"`,
		"script":             `"postStartCommand": "bash .devcontainer/start.sh"`,
		"script, by a place": `"postStartCommand": "${containerWorkspaceFolder}/.devcontainer/start.sh"`,
		"script of a script": `"postStartCommand": ". .devcontainer/outer.sh"`,
		"without sudo":       `"postStartCommand": "/usr/local/bin/init-firewall.sh"`,
	} {
		t.Run(name, func(t *testing.T) {
			tree := hookedFirewall()
			tree[".devcontainer/start.sh"] = "#!/bin/sh\nset -e\nsudo /usr/local/bin/init-firewall.sh\n"
			tree[".devcontainer/outer.sh"] = "cd /\n./start.sh\n"
			src, _, _ := lint.Fix(load(t, tree, strings.Replace(hookedConfig, "HOOK", hook, 1)), nil, nil)
			if strings.Contains(string(src), "no-new-privileges") {
				t.Errorf("fix switches the firewall off:\n%s", src)
			}
		})
	}
}

// manyScripts are scripts of which the last one needs sudo.
func manyScripts(n int) devcontainer.Memory {
	out := devcontainer.Memory{}
	for i := range n {
		out[fmt.Sprintf(".devcontainer/%d.sh", i)] = "npm ci\n"
	}
	out[fmt.Sprintf(".devcontainer/%d.sh", n-1)] = "sudo true\n"
	return out
}

// Other things that may need a setuid program when the container starts, and cannot be
// seen in the hooks: fix leaves the option to a person.
func TestFixLeavesPrivilegesWhereTheStartMayNeedThem(t *testing.T) {
	const sandbox = `"capAdd": ["NET_ADMIN"], "overrideCommand": false, "remoteUser": "node"`
	sandboxFiles := func(more devcontainer.Memory) devcontainer.Memory {
		tree := devcontainer.Memory{".devcontainer/sandbox.jsonc": "{}"}
		for name, text := range more {
			tree[name] = text
		}
		return tree
	}
	for _, tt := range []struct {
		name, line string
		files      devcontainer.Memory
		adds       bool
	}{
		{"nothing", `"image": "a:1"`, nil, true},
		{"a hook of plain programs", `"image": "a:1", "postCreateCommand": "npm ci && git status"`, nil, true},
		{"a script that needs nothing", `"image": "a:1", "postCreateCommand": "sh .devcontainer/a.sh"`,
			devcontainer.Memory{".devcontainer/a.sh": "# no sudo here\nnpm ci\n"}, true},
		{"initializeCommand, on the host", `"image": "a:1", "initializeCommand": "sudo true"`, nil, true},
		{"ENTRYPOINT", `"build": {"dockerfile": "Dockerfile"}`,
			devcontainer.Memory{".devcontainer/Dockerfile": "FROM a:1\nENTRYPOINT [\"sudo\", \"sbx-init\"]\n"}, false},
		{"ENTRYPOINT's script", `"build": {"dockerfile": "Dockerfile"}`, devcontainer.Memory{
			".devcontainer/Dockerfile": "FROM a:1\nCOPY entry.sh /entry.sh\nENTRYPOINT [\"/entry.sh\"]\n",
			".devcontainer/entry.sh":   "sudo sbx-init\n"}, false},
		{"CMD", `"build": {"dockerfile": "Dockerfile"}`,
			devcontainer.Memory{".devcontainer/Dockerfile": "FROM a:1\nCMD sudo service ssh start && sleep infinity\n"}, false},
		{"--entrypoint", `"image": "a:1", "runArgs": ["--entrypoint=sudo"]`, nil, false},
		{"a local Feature's hook", `"image": "a:1", "features": {"./tool": {}}`, devcontainer.Memory{
			".devcontainer/tool/devcontainer-feature.json": `{"id": "tool", "version": "1.0.0", "name": "T", "postStartCommand": ["sudo", "x"]}`,
			".devcontainer/tool/install.sh":                ""}, false},
		{"a local Feature's entrypoint", `"image": "a:1", "features": {"./tool": {}}`, devcontainer.Memory{
			".devcontainer/tool/devcontainer-feature.json": `{"id": "tool", "version": "1.0.0", "name": "T", "entrypoint": ` +
				`"/usr/local/share/tool.sh"}`,
			".devcontainer/tool/install.sh": "cat > /usr/local/share/tool.sh <<'EOF'\nsudo x\nEOF\n"}, false},
		{"a Feature that nothing here shows", `"image": "a:1", "features": {"ghcr.io/devcontainers/features/sshd:1": {}}`, nil, false},
		{"a program that nothing here shows", `"image": "a:1", "postStartCommand": "/opt/start"`, nil, false},
		{"a script behind very many", `"image": "a:1", "postCreateCommand": "` +
			repeated(51, func(i int) string { return fmt.Sprintf("sh .devcontainer/%d.sh && ", i) }) + `true"`, manyScripts(51), false},
		{"text from a pipe", `"image": "a:1", "postStartCommand": "curl -fsS https://example.com/x | bash"`, nil, false},
		{"a Makefile", `"image": "a:1", "postStartCommand": "make up"`, devcontainer.Memory{"Makefile": "up:\n\tsudo true\n"}, false},
		{"npm's scripts", `"image": "a:1", "postStartCommand": "npm run up"`,
			devcontainer.Memory{"package.json": `{"scripts": {"up": "sudo true"}}`}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src, _, _ := lint.Fix(load(t, sandboxFiles(tt.files), "{"+tt.line+", "+sandbox+"}"), nil, nil)
			if got := strings.Contains(string(src), "no-new-privileges"); got != tt.adds {
				t.Errorf("adds no-new-privileges: %v, want %v:\n%s", got, tt.adds, src)
			}
		})
	}
}

// SBX824: sudo in what starts, under no-new-privileges.
func TestSetuidRefused(t *testing.T) {
	const off = `"securityOpt": ["no-new-privileges"]`
	for _, tt := range []struct {
		name, line string
		files      devcontainer.Memory
		want       string // a part of the message; "" for no finding
	}{
		{"hook", `"image": "a:1", "remoteUser": "dev", "postStartCommand": "sudo x", ` + off, nil,
			"postStartCommand runs sudo, and no-new-privileges refuses that"},
		{"firewall", `"image": "a:1", "remoteUser": "dev", "postStartCommand": "sudo /usr/local/bin/init-firewall.sh", ` + off, nil,
			"the firewall is never raised"},
		{"script", `"image": "a:1", "remoteUser": "dev", "postCreateCommand": "sh .devcontainer/a.sh", ` + off,
			devcontainer.Memory{".devcontainer/a.sh": "su -c x\n"}, "postCreateCommand runs a.sh, which runs su"},
		{"by runArgs",
			`"image": "a:1", "remoteUser": "dev", "postStartCommand": "sudo x", "runArgs": ["--security-opt", "no-new-privileges:true"]`, nil,
			"runs sudo"},
		{"by Compose",
			`"dockerComposeFile": "c.yaml", "service": "a", "workspaceFolder": "/w", "remoteUser": "dev", "postStartCommand": "sudo x"`,
			devcontainer.Memory{".devcontainer/c.yaml": "services: {a: {image: 'a:1', security_opt: ['no-new-privileges:true']}}\n"}, "runs sudo"},
		{"by the firewall Feature",
			`"image": "a:1", "remoteUser": "dev", "postStartCommand": "sudo x", "features": ` +
				`{"ghcr.io/org/claude-sandbox/features/firewall:0.1.0": {}}`, nil, "runs sudo"},
		{"a Feature's hook", `"image": "a:1", "remoteUser": "dev", "features": {"./tool": {}}, ` + off, devcontainer.Memory{
			".devcontainer/tool/devcontainer-feature.json": `{"id": "tool", "version": "1.0.0", "name": "T", "postStartCommand": "sudo x"}`,
			".devcontainer/tool/install.sh":                ""}, "postStartCommand of the Feature ./tool runs sudo"},
		{"the first process of another user", `"build": {"dockerfile": "Dockerfile"}, "overrideCommand": false, ` + off,
			devcontainer.Memory{".devcontainer/Dockerfile": "FROM a:1\nUSER dev\nENTRYPOINT [\"sudo\", \"x\"]\n"}, "ENTRYPOINT runs sudo"},
		{"the first process of root", `"build": {"dockerfile": "Dockerfile"}, "remoteUser": "dev", "overrideCommand": false, ` + off,
			devcontainer.Memory{".devcontainer/Dockerfile": "FROM a:1\nUSER root\nENTRYPOINT su dev -c x\n"}, ""},
		{"the first process by a variable", `"build": {"dockerfile": "Dockerfile"}, ` + off,
			devcontainer.Memory{".devcontainer/Dockerfile": "FROM a:1\nENV BY=sudo\nUSER dev\nENTRYPOINT $BY x\n"}, "ENTRYPOINT runs sudo"},
		{"a command for the image's own", `"build": {"dockerfile": "Dockerfile"}, ` + off,
			devcontainer.Memory{".devcontainer/Dockerfile": "FROM a:1\nUSER dev\nENTRYPOINT [\"/entry.sh\"]\nCMD [\"sudo\", \"x\"]\n"},
			"CMD runs sudo"},
		{"a service's text for a shell", `"dockerComposeFile": "c.yaml", "service": "a", "workspaceFolder": "/w"`, devcontainer.Memory{
			".devcontainer/c.yaml": "services: {a: {image: 'a:1', user: dev, entrypoint: [sh, -c], command: ['sudo x'], security_opt: " +
				"['no-new-privileges:true']}}\n"}, "the service's entrypoint runs sudo"},
		{"another service's", `"dockerComposeFile": "c.yaml", "service": "a", "workspaceFolder": "/w"`, devcontainer.Memory{
			".devcontainer/c.yaml": "services: {a: {image: 'a:1', user: dev, security_opt: ['no-new-privileges:true']}, b: {image: 'a:1', " +
				"entrypoint: sudo x}}\n"}, ""},
		{"--entrypoint", `"image": "a:1", "containerUser": "dev", "runArgs": ["--entrypoint", "su"], ` + off, nil, "--entrypoint runs su"},
		{"a Feature's entrypoint", `"image": "a:1", "containerUser": "dev", "features": {"./tool": {}}, ` + off, devcontainer.Memory{
			".devcontainer/tool/devcontainer-feature.json": `{"id": "tool", "version": "1.0.0", "name": "T", "entrypoint": "sudo x"}`,
			".devcontainer/tool/install.sh":                ""}, "entrypoint of the Feature ./tool runs sudo"},
		{"a label's entrypoint", `"build": {"dockerfile": "Dockerfile"}, ` + off,
			devcontainer.Memory{".devcontainer/Dockerfile": "FROM a:1\nUSER dev\nLABEL devcontainer.metadata='{\"entrypoint\": \"sudo x\"}'\n"},
			"entrypoint of the label devcontainer.metadata runs sudo"},
		{"an image of root's", `"image": "debian:13", "postStartCommand": "sudo x", ` + off, nil, ""},
		{"root's hooks", `"image": "a:1", "remoteUser": "root", "postStartCommand": "sudo x", ` + off, nil, ""},
		{"setuid works", `"image": "a:1", "postStartCommand": "sudo x", "securityOpt": ["no-new-privileges:false"]`, nil, ""},
		{"only named", `"image": "a:1", "postStartCommand": "command -v sudo || true", ` + off, nil, ""},
		{"on the host", `"image": "a:1", "initializeCommand": "sudo x", ` + off, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.files == nil {
				tt.files = devcontainer.Memory{}
			}
			var found []string
			for _, f := range lint.Check(load(t, tt.files, "{"+tt.line+"}")) {
				if f.Rule == "SBX824" {
					found = append(found, f.Message)
				}
			}
			if tt.want == "" && len(found) > 0 || tt.want != "" && (len(found) != 1 || !strings.Contains(found[0], tt.want)) {
				t.Errorf("got %q, want one with %q", found, tt.want)
			}
		})
	}
}

// SBX805 says what sudo really gives.
func TestSudoersScopeIsNamed(t *testing.T) {
	hook := `"postStartCommand": "sudo /usr/local/bin/init-firewall.sh"`
	for name, tt := range map[string]struct {
		old, replacement string
		severity         diag.Severity
		message          string
	}{
		"one command": {"", "", diag.SeverityWarning, "sudo runs only /usr/local/bin/init-firewall.sh for the agent"},
		"two commands": {"NOPASSWD: ", "NOPASSWD: /usr/bin/apt-get update, ", diag.SeverityWarning,
			"sudo runs only /usr/bin/apt-get update, /usr/local/bin/init-firewall.sh"},
		"everything": {"NOPASSWD: /usr/local/bin/init-firewall.sh", "NOPASSWD: ALL", diag.SeverityError,
			"sudo gives the agent"},
		"everything beside": {"USER node", "RUN usermod -aG sudo node\nUSER node", diag.SeverityError,
			"sudo gives the agent"},
		"a pattern": {"init-firewall.sh\"", "*\"", diag.SeverityError, "sudo gives the agent"},
		"an image that has sudo for everything": {"FROM node:24", "FROM mcr.microsoft.com/devcontainers/base:1", diag.SeverityError,
			"sudo gives the agent"},
	} {
		t.Run(name, func(t *testing.T) {
			tree := hookedFirewall()
			tree[".devcontainer/Dockerfile"] = strings.Replace(tree[".devcontainer/Dockerfile"], tt.old, tt.replacement, 1)
			findings := lint.Check(load(t, tree, strings.Replace(hookedConfig, "HOOK", hook, 1)))
			i := slices.IndexFunc(findings, func(f diag.Finding) bool { return f.Rule == "SBX805" })
			if i < 0 {
				t.Fatalf("no SBX805: %v", findings)
			}
			if f := findings[i]; f.Severity != tt.severity || !strings.Contains(f.Message, tt.message) || strings.HasPrefix(f.Hint, "add ") {
				t.Errorf("got %s %q, hint %q", f.Severity, f.Message, f.Hint)
			}
		})
	}
}

// On every configuration of the corpora: fixing again changes nothing, no
// finding is new, and the options of the kernel stay where sudo is about.
func TestFixHarmsNoRealConfiguration(t *testing.T) {
	names := find(t, testenv.Corpus(t, "corpus"), "devcontainer.json", ".devcontainer.json")
	changed, files := 0, 0
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		p := devcontainer.Parse(name, src)
		out, fixed, _ := lint.Fix(p, nil, nil)
		files++
		if len(fixed) == 0 {
			continue
		}
		changed++
		after := devcontainer.Parse(name, out)
		if again, _, _ := lint.Fix(after, nil, nil); string(again) != string(out) {
			t.Errorf("%s: fixing again changes it", name)
		}
		before := map[string]bool{}
		for _, f := range lint.Check(p) {
			before[f.Rule+f.Message] = true
		}
		for _, f := range lint.Check(after) {
			if !before[f.Rule+f.Message] && f.Severity != diag.SeverityNote {
				t.Errorf("%s: new: %s [%s]", name, f.Message, f.Rule)
			}
		}
		if strings.Contains(string(src), "sudo") && strings.Contains(string(out), "no-new-privileges") &&
			!strings.Contains(string(src), "no-new-privileges") {
			t.Errorf("%s: no-new-privileges added where sudo is used", name)
		}
	}
	t.Logf("%d files, %d changed", files, changed)
	if files < 300 || changed == 0 {
		t.Errorf("%d files, %d changed: the test compares nothing", files, changed)
	}
}
