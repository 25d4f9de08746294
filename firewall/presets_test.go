package firewall

import (
	"slices"
	"strings"
	"testing"
)

func TestPresetsAreUsable(t *testing.T) {
	for _, want := range []string{"anthropic", "claude-code", "github", "gitlab", "npm", "pypi", "go", "rust", "debian", "ubuntu", "docker", "vscode", "sentry"} {
		if _, ok := Preset(want); !ok {
			t.Errorf("no preset %s", want)
		}
	}
	if names := PresetNames(); !slices.IsSorted(names) {
		t.Errorf("not sorted: %v", names)
	}
	for _, name := range PresetNames() {
		p, errs := NewPolicy(Network{Presets: []string{name}})
		if errs != nil {
			t.Errorf("preset %s: %v", name, errs)
			continue
		}
		texts, _ := Preset(name)
		if _, errs := NewPolicy(Network{Allow: texts}); errs != nil {
			t.Errorf("preset %s as a list of its own: %v", name, errs)
		}
		for i := range p.allow.entries {
			for j := range p.allow.entries {
				a, b := &p.allow.entries[i], &p.allow.entries[j]
				shared := slices.ContainsFunc(b.ports, a.opens)
				if i != j && shared && a.contains(b) {
					t.Errorf("preset %s: %s covers %s", name, a.rule, b.rule)
				}
			}
		}
	}
}

// A preset names an ecosystem's domain, never one of its hosts: those change.
// A name without a wildcard must be the domain that a wildcard stands below,
// or a domain of its own.
func TestPresetsSpellNoSingleHost(t *testing.T) {
	for _, name := range PresetNames() {
		texts, _ := Preset(name)
		for _, text := range texts {
			e, bad := parseEntry(text)
			if bad != nil {
				t.Fatalf("%s: %s", text, bad.message)
			}
			if e.prefix.IsValid() {
				t.Errorf("preset %s: %s is an address, and addresses change", name, text)
			}
			if !e.wildcard && strings.Count(e.name, ".") != 1 {
				t.Errorf("preset %s: %s is a single host", name, text)
			}
		}
	}
}

func TestPresetIsACopy(t *testing.T) {
	texts, _ := Preset("anthropic")
	texts[0] = "evil.example"
	if again, _ := Preset("anthropic"); again[0] == "evil.example" {
		t.Error("a caller can change a preset")
	}
}
