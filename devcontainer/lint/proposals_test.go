package lint_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// What only a person can want is proposed, and Fix leaves it as it is. The finding is gone then.
func TestOffers(t *testing.T) {
	const name = ".devcontainer/devcontainer.json"
	for _, tt := range []struct {
		rule, src, want string
		others          devcontainer.Memory
	}{
		{"SBX201", `{"image": "a:1", "nmae": "x"}`, `{"image": "a:1", "name": "x"}`, nil},
		{"SBX201", `{"image": "a:1", "Privileged": true}`, `{"image": "a:1", "privileged": true}`, nil},
		{"SBX101", `{"image": "a:1", privileged: true}`, `{"image": "a:1", "privileged": true}`, nil},
		{"SBX207", `{"image": "a:1", "extensions": ["a.b", "c.d"], "customizations": {"vscode": {"extensions": ["a.b"]}}}`,
			`{"image": "a:1", "customizations": {"vscode": {"extensions": ["a.b", "c.d"]}}}`, nil},
		{"SBX207", `{"image": "a:1", "settings": {"x": 1, "y": {"z": 2}, "w": 3}, "customizations": {"vscode": {"settings": {"x": 1}}}}`,
			`{"image": "a:1", "customizations": {"vscode": {"settings": {"x": 1, "y": {"z": 2},` + "\n" + `"w": 3}}}}`, nil},
		{"SBX207", `{"image": "a:1", "settings": {"x": 1}, "customizations": {"vscode": {"settings": {"x": 2}}}}`, "", nil},
		{"SBX703", `{"image": "node:22", "remoteUser": "vscode"}`, `{"image": "node:22", "remoteUser": "node"}`, nil},
		{"SBX703", `{"image": "debian:13", "remoteUser": "dev"}`, `{"image": "debian:13"}`, nil},
		{"SBX703", `{"build": {"dockerfile": "Dockerfile"}, "containerUser": "dev"}`,
			`{"build": {"dockerfile": "Dockerfile"}, "containerUser": "ubuntu"}`,
			devcontainer.Memory{".devcontainer/Dockerfile": "FROM ubuntu:24.04\n"}},
		{"SBX314", `{"image": "a:1", "postCreateCommand": ["npm ci", "npm test"]}`,
			`{"image": "a:1", "postCreateCommand": "npm ci && npm test"}`, nil},
		{"SBX313", `{"dockerComposeFile": "c.yaml", "service": "webap", "workspaceFolder": "/"}`,
			`{"dockerComposeFile": "c.yaml", "service": "webapp", "workspaceFolder": "/"}`,
			devcontainer.Memory{".devcontainer/c.yaml": "services: {webapp: {image: 'a:1', command: sleep infinity}}\n"}},
		{"SBX325", `{"image": "a:1", "features": {"./x": {"verison": "1"}}}`,
			`{"image": "a:1", "features": {"./x": {"version": "1"}}}`, devcontainer.Memory{
				".devcontainer/x/devcontainer-feature.json": `{"id": "x", "version": "1.0.0", "options": {"version": {"type": ` +
					`"string", "default": "2"}}}`}},
		{"SBX325", `{"image": "a:1", "features": {"x": {}}}`, `{"image": "a:1", "features": {"./x": {}}}`, devcontainer.Memory{
			".devcontainer/x/devcontainer-feature.json": `{"id": "x", "version": "1.0.0"}`}},
	} {
		files := devcontainer.Memory{name: tt.src}
		for other, text := range tt.others {
			files[other] = text
		}
		p, err := devcontainer.Load(files, name, name)
		if err != nil {
			t.Fatal(err)
		}
		if src, _, _ := lint.Fix(p, []string{tt.rule}, nil); string(src) != tt.src {
			t.Errorf("%s: Fix made it by itself: %s", tt.rule, src)
		}
		proposals := lint.Proposals(p, []string{tt.rule}, nil)
		if tt.want == "" && len(proposals) == 0 {
			continue
		}
		if len(proposals) != 1 || proposals[0].Safe {
			t.Errorf("%s: %v for %s", tt.rule, proposals, tt.src)
			continue
		}
		out, _ := jsonc.Apply(p.Config.Src, proposals[0].Edits)
		if string(out) != tt.want {
			t.Errorf("%s: got  %s\nwant %s", tt.rule, out, tt.want)
		}
		if again := lint.Proposals(p.With(out), []string{tt.rule}, nil); len(again) > 0 {
			t.Errorf("%s: offered again: %v", tt.rule, again)
		}
	}
}

// A digest is put behind the image's name, whether the finding is a note or a warning.
func TestOfferOfADigest(t *testing.T) {
	for src, rule := range map[string]string{`{"image": "debian:13"}`: "SBX601", `{"image": "debian"}`: "SBX602"} {
		p := devcontainer.Parse("f", []byte(src))
		proposals := lint.Proposals(p, []string{rule}, nil)
		if len(proposals) != 1 || proposals[0].Safe || !strings.HasPrefix(proposals[0].Image, "debian") {
			t.Fatalf("%v", proposals)
		}
		digest := "sha256:" + strings.Repeat("0", 64)
		out, _ := jsonc.Apply(p.Config.Src, proposals[0].Pinned(p.Config, digest).Edits)
		if want := strings.Replace(src, `"}`, "@"+digest+`"}`, 1); string(out) != want {
			t.Errorf("got %s, want %s", out, want)
		}
		if left := lint.Proposals(p.With(out), nil, nil); len(left) > 0 {
			t.Errorf("%v", left)
		}
	}
}

// All that Fix makes is proposed, too, in the order of the file; and a choice holds for both.
func TestProposalsHaveWhatFixMakes(t *testing.T) {
	p := devcontainer.Parse("f", []byte("{\"image\": \"a:1\",\n\"name\": \"${env:X}\",\n\"init\": \"true\",\n\"remoteuser\": \"x\",}"))
	var rules []string
	for _, f := range lint.Proposals(p, nil, nil) {
		if f.Safe {
			rules = append(rules, f.Rule)
		}
	}
	if !slices.Equal(rules, []string{"SBX307", "SBX301", "SBX201", "SBX103"}) {
		t.Errorf("%v", rules)
	}
}
