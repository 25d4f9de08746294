package lock

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/templates"
)

// fromLine is what Dependabot reads of a Dockerfile: lines, each on its own, that
// begin with FROM and name an image by tag, digest or both.
var fromLine = regexp.MustCompile(`(?m)^FROM\s+([a-z0-9./-]+):([\w.-]+)(@sha256:[0-9a-f]{64})?(\s+AS\s+[\w-]+)?$`)

// TestBotsFindEveryImage: Dependabot knows FROM alone, at the start of a line,
// and no variable in it. Every image that a template takes something from stands
// there; only sbx-init is 'sbx-devc update”s.
func TestBotsFindEveryImage(t *testing.T) {
	for _, id := range templates.IDs() {
		tmpl, err := templates.Load(id)
		if err != nil {
			t.Fatal(err)
		}
		files, err := tmpl.Render(nil)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, f := range files {
			if filepath.Base(f.Path) != "Dockerfile" {
				continue
			}
			for _, m := range fromLine.FindAllStringSubmatch(string(f.Content), -1) {
				found = append(found, m[1]+":"+m[2])
			}
			stages := len(dockerfile.Parse(f.Path, f.Content, dockerfile.Options{}).Stages)
			if stages != len(found) {
				t.Errorf("%s: %d stages, and a bot finds %d", id, stages, len(found))
			}
		}
		for _, reference := range References(files) {
			if !slices.Contains(found, reference) {
				t.Errorf("%s: no bot finds %s", id, reference)
			}
		}
	}
}

// TestRenovatePresetFindsNpm: the patterns of the preset, which Renovate reads
// with the same engine, find each version and each checksum of npm's programs.
func TestRenovatePresetFindsNpm(t *testing.T) {
	text, err := os.ReadFile("../renovate.json")
	if err != nil {
		t.Fatal(err)
	}
	var preset struct {
		CustomManagers []struct {
			MatchStrings    []string
			DepNameTemplate string
		}
	}
	if err := json.Unmarshal(text, &preset); err != nil {
		t.Fatal(err)
	}
	for _, id := range templates.IDs() {
		tmpl, err := templates.Load(id)
		if err != nil {
			t.Fatal(err)
		}
		files, err := tmpl.Render(nil)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, f := range files {
			for _, m := range preset.CustomManagers {
				pattern := regexp.MustCompile(m.MatchStrings[0])
				for _, at := range pattern.FindAllSubmatchIndex(f.Content, -1) {
					found[m.DepNameTemplate+string(pattern.Expand(nil, []byte("$depName $currentValue $currentDigest"), f.Content, at))] = true
				}
			}
		}
		version := tmpl.Options["claudeVersion"].Default
		want := []string{
			"@anthropic-ai/claude-code-linux-x64 " + version + " " + tmpl.Options["claudeIntegrityX64"].Default,
			"@anthropic-ai/claude-code-linux-arm64 " + version + " " + tmpl.Options["claudeIntegrityArm64"].Default,
			"@anthropic-ai/claude-code-linux-x64 " + version + " ",
		}
		if o, ok := tmpl.Options["pyrightVersion"]; ok {
			want = append(want, "pyright "+o.Default+" "+tmpl.Options["pyrightIntegrity"].Default, "pyright "+o.Default+" ")
		}
		for _, w := range want {
			if !found[w] {
				t.Errorf("%s: no pattern finds %s, but %v", id, w, found)
			}
		}
		if len(found) != len(want) {
			t.Errorf("%s: found %v, want %v", id, found, want)
		}
	}
}
