package templates_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/templates"
)

func TestExtendKeepsWhatIsThere(t *testing.T) {
	const src = `{
	// ours
	"image": "mcr.example/devcontainers/go:1", /* pinned by Renovate */
	"features": {
		"ghcr.io/devcontainers/features/node:1": {} // for the site
	},
	"mounts": ["type=volume,source=cache,target=/cache"],
	"remoteUser": "vscode", // last
}
`
	facts := templates.Facts{Pinned: []string{".git"}, ReadOnly: []string{".git/hooks", ".git/config"}, Covered: []string{".idea"}}
	got, changes, err := templates.Extend([]byte(src),
		templates.Extension{Facts: facts, Presets: []string{"anthropic", "npm"}, Allow: []string{`x"y`}})
	if err != nil || len(changes) > 0 {
		t.Fatal(changes, err)
	}
	doc, findings := jsonc.Parse("", got)
	if doc == nil {
		t.Fatalf("%v\n%s", findings, got)
	}
	for _, kept := range []string{"\t// ours\n\t\"image\": \"mcr.example/devcontainers/go:1\", /* pinned by Renovate */\n",
		`"ghcr.io/devcontainers/features/node:1": {}, // for the site`,
		`["type=volume,source=cache,target=/cache", `, `"remoteUser": "vscode", // last`} {
		if !strings.Contains(string(got), kept) {
			t.Errorf("%q is gone:\n%s", kept, got)
		}
	}
	feature := doc.Root.Member("features").Member(templates.LocalFeature)
	if presets, _ := feature.Member("presets").Str(); presets != "anthropic,npm" {
		t.Errorf("presets %q", presets)
	}
	if allow, _ := feature.Member("allow").Str(); allow != `x"y` {
		t.Errorf("allow %q", allow)
	}
	for _, want := range []string{`target=${containerWorkspaceFolder}/.devcontainer,readonly"`, `target=${containerWorkspaceFolder}/.git"`,
		`/.git/config,readonly"`, `"type=tmpfs,target=${containerWorkspaceFolder}/.idea,readonly"`, `"SSH_AUTH_SOCK": null`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	again, _, err := templates.Extend(got, templates.Extension{Facts: facts, Presets: []string{"anthropic", "npm"}})
	if err != nil || !bytes.Equal(again, got) {
		t.Errorf("a second time changes something: %v\n%s", err, again)
	}
}

func TestExtendRefuses(t *testing.T) {
	for name, src := range map[string]string{
		"no JSON": `{`, "an array": `[]`, "a name twice": `{"image": "a", "image": "b"}`, "privileged": `{"image": "a", "privileged": true}`,
		"features as a list": `{"image": "a", "features": []}`, "mounts as an object": `{"mounts": {}}`,
	} {
		if got, _, err := templates.Extend([]byte(src), templates.Extension{}); !errors.Is(err, templates.ErrExtend) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

// The reference CLI drops readonly of a mount when it hands it to Compose.
func TestExtendMountsNothingWritableOverComposeVolumes(t *testing.T) {
	got, _, err := templates.Extend([]byte(`{"dockerComposeFile": "c.yml", "service": "a", "workspaceFolder": "/w"}`),
		templates.Extension{Facts: templates.Facts{ReadOnly: []string{".git/hooks"}}, Presets: []string{"npm"}})
	if err != nil || strings.Contains(string(got), "mounts") || !strings.Contains(string(got), templates.LocalFeature) {
		t.Errorf("%v\n%s", err, got)
	}
}

// However the Feature is named, it is not added a second time.
func TestExtendKnowsTheFeature(t *testing.T) {
	for _, name := range []string{"ghcr.io/me/features/firewall", "localhost:5000/x/firewall:1", "ghcr.io/a/b/firewall@sha256:0", "./firewall",
		"https://files.example/devcontainer-feature-firewall.tgz"} {
		got, _, err := templates.Extend([]byte(`{"image": "a:1", "features": {"`+name+`": {}}}`), templates.Extension{})
		if err != nil || strings.Count(string(got), "firewall") != 1 || !templates.Extended(got) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
	if templates.Extended([]byte(`{"features": {"ghcr.io/a/b/firewall-tools:1": {}}}`)) {
		t.Error("another Feature was taken for it")
	}
}

// A hook that only raises a firewall goes, in each form that a hook has; what
// does more stays, and is judged by what validate says.
func TestExtendTakesOverAFirewallHook(t *testing.T) {
	for _, c := range []struct{ name, hooks, want string }{
		{"sudo", `"postStartCommand": "sudo /usr/local/bin/init-firewall.sh", "waitFor": "postStartCommand"`, ``},
		{"sudo with a shell", `"postStartCommand": "sudo -n /bin/bash .devcontainer/init-firewall.sh"`, ``},
		{"words", `"postCreateCommand": ["sudo", "/usr/local/bin/init-firewall.sh"]`, ``},
		{"one of several",
			`"postStartCommand": {"firewall": "sudo /usr/local/bin/init-firewall.sh", "deps": "npm ci"}, "waitFor": "postStartCommand"`,
			`"postStartCommand": {"deps": "npm ci"}, "waitFor": "postStartCommand"`},
		{"one alone", `"postStartCommand": {"firewall": "sudo init-firewall.sh"}, "waitFor": "onCreateCommand"`, `"waitFor": "onCreateCommand"`},
		{"more than that", `"postStartCommand": "sudo init-firewall.sh && npm ci"`, `"postStartCommand": "sudo init-firewall.sh && npm ci"`},
		{"another script", `"postStartCommand": "sudo ./init-firewall.sh.bak"`, `"postStartCommand": "sudo ./init-firewall.sh.bak"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, changes, err := templates.Extend([]byte(`{"image": "a:1", `+c.hooks+`}`), templates.Extension{})
			if err != nil {
				t.Fatal(err)
			}
			want := `{"image": "a:1"`
			if c.want != "" {
				want += ", " + c.want
			}
			if !strings.HasPrefix(string(got), want+`, "features"`) && !strings.HasPrefix(string(got), want+",\n") {
				t.Errorf("want %s in\n%s", want, got)
			}
			if (len(changes) > 0) != (c.want != c.hooks) {
				t.Errorf("said: %q", changes)
			}
		})
	}
}

// Root raises the firewall; the agent stays who it was.
func TestExtendStartsAsRoot(t *testing.T) {
	for _, c := range []struct{ name, src, user, want string }{
		{"the Dockerfile's user", `{"build": {"dockerfile": "Dockerfile"}}`, "node", "root node"},
		{"a remoteUser", `{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "dev"}`, "node", "root dev"},
		{"a containerUser", `{"image": "a:1", "containerUser": "vscode"}`, "vscode", "root vscode"},
		{"root already", `{"image": "a:1", "remoteUser": "dev"}`, "root", " dev"},
		{"not known", `{"image": "a:1"}`, "", " "},
		{"a service, which is not ours to edit", `{"dockerComposeFile": "c.yml", "service": "a"}`, "dev", " dev"},
	} {
		got, _, err := templates.Extend([]byte(c.src), templates.Extension{StartUser: c.user})
		if err != nil {
			t.Fatal(err)
		}
		doc, _ := jsonc.Parse("", got)
		first, _ := doc.Root.Member("containerUser").Str()
		agent, _ := doc.Root.Member("remoteUser").Str()
		if first+" "+agent != c.want {
			t.Errorf("%s: %s %s, want %s", c.name, first, agent, c.want)
		}
	}
}
