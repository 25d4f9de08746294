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
	got, err := templates.Extend([]byte(src), facts, []string{"anthropic", "npm"}, []string{`x"y`})
	if err != nil {
		t.Fatal(err)
	}
	doc, findings := jsonc.Parse("", got)
	if doc == nil {
		t.Fatalf("%v\n%s", findings, got)
	}
	for _, kept := range []string{"\t// ours\n\t\"image\": \"mcr.example/devcontainers/go:1\", /* pinned by Renovate */\n", `"ghcr.io/devcontainers/features/node:1": {}, // for the site`,
		`["type=volume,source=cache,target=/cache", `, `"remoteUser": "vscode", // last`} {
		if !strings.Contains(string(got), kept) {
			t.Errorf("%q is gone:\n%s", kept, got)
		}
	}
	feature := doc.Root.Member("features").Member(templates.FeatureReference())
	if presets, _ := feature.Member("presets").Str(); presets != "anthropic,npm" {
		t.Errorf("presets %q", presets)
	}
	if allow, _ := feature.Member("allow").Str(); allow != `x"y` {
		t.Errorf("allow %q", allow)
	}
	for _, want := range []string{`target=${containerWorkspaceFolder}/.devcontainer,readonly"`, `target=${containerWorkspaceFolder}/.git"`, `/.git/config,readonly"`, `"type=tmpfs,target=${containerWorkspaceFolder}/.idea,readonly"`, `"SSH_AUTH_SOCK": null`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	again, err := templates.Extend(got, facts, []string{"anthropic", "npm"}, nil)
	if err != nil || !bytes.Equal(again, got) {
		t.Errorf("a second time changes something: %v\n%s", err, again)
	}
}

func TestExtendRefuses(t *testing.T) {
	for name, src := range map[string]string{
		"no JSON": `{`, "an array": `[]`, "a name twice": `{"image": "a", "image": "b"}`, "privileged": `{"image": "a", "privileged": true}`,
		"a plain first process": `{"image": "a", "containerUser": "vscode"}`, "features as a list": `{"image": "a", "features": []}`, "mounts as an object": `{"mounts": {}}`,
	} {
		if got, err := templates.Extend([]byte(src), templates.Facts{}, nil, nil); !errors.Is(err, templates.ErrExtend) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

// The reference CLI drops readonly of a mount when it hands it to Compose.
func TestExtendMountsNothingWritableOverComposeVolumes(t *testing.T) {
	got, err := templates.Extend([]byte(`{"dockerComposeFile": "c.yml", "service": "a", "workspaceFolder": "/w"}`), templates.Facts{ReadOnly: []string{".git/hooks"}}, []string{"npm"}, nil)
	if err != nil || strings.Contains(string(got), "mounts") || !strings.Contains(string(got), templates.FeatureReference()) {
		t.Errorf("%v\n%s", err, got)
	}
}

// However the Feature is named, it is not added a second time.
func TestExtendKnowsTheFeature(t *testing.T) {
	for _, name := range []string{"ghcr.io/me/features/firewall", "localhost:5000/x/firewall:1", "ghcr.io/a/b/firewall@sha256:0", "./firewall", "https://files.example/devcontainer-feature-firewall.tgz"} {
		got, err := templates.Extend([]byte(`{"image": "a:1", "features": {"`+name+`": {}}}`), templates.Facts{}, nil, nil)
		if err != nil || strings.Contains(string(got), templates.FeatureReference()) || !templates.Extended(got) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
	if templates.Extended([]byte(`{"features": {"ghcr.io/a/b/firewall-tools:1": {}}}`)) {
		t.Error("another Feature was taken for it")
	}
}
