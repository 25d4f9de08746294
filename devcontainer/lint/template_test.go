package lint_test

import (
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
)

func TestTemplatesAndFeatures(t *testing.T) {
	const head = `{"id": "app", "version": "1.0.0", "name": "App", `
	template := func(rest, config string) devcontainer.Memory {
		return devcontainer.Memory{"app/devcontainer-template.json": head + rest, "app/.devcontainer/devcontainer.json": config}
	}
	feature := func(rest string) devcontainer.Memory {
		return devcontainer.Memory{"app/devcontainer-feature.json": head + rest, "app/install.sh": ""}
	}
	for _, tt := range []struct {
		name string
		tree devcontainer.Memory
		want string
	}{
		{"template",
			template(`"options": {"v": {"type": "string", "proposals": ["1", "2"], "default": "1"}}}`, `{"image": "a:${templateOption:v}"}`), ""},
		{"blanks in the option", template(`"options": {"v": {"type": "string", "default": "1"}}}`, `{"image": "a:${templateOption: v }"}`), ""},
		{"undeclared option", template(`"platforms": []}`, `{"image": "a:${templateOption:v}"}`), "SBX906"},
		{"unused option", template(`"options": {"v": {"type": "string", "default": "1"}}}`, `{"image": "a:1"}`), "SBX912"},
		{"unknown name", template(`"optoins": {}}`, `{"image": "a:1"}`), "SBX201"},
		{"no type", template(`"options": {"v": {"default": "1"}}}`, `{"image": "a:${templateOption:v}"}`), "SBX204"},
		{"one proposal breaks the text",
			template(`"options": {"v": {"type": "string", "proposals": ["x\"y"], "default": "1"}}}`, `{"image": "a:${templateOption:v}"}`),
			"SBX908"},
		{"one value is not accepted",
			template(`"options": {"v": {"type": "string", "enum": ["none", "all"], "default": "none"}}}`,
				`{"image": "a:1", "userEnvProbe": "${templateOption:v}"}`), "SBX907"},
		{"boolean as text in the file",
			template(`"options": {"v": {"type": "boolean", "default": "true"}}}`, `{"image": "a:1", "init": ${templateOption:v}}`), ""},
		{"folder of another name",
			devcontainer.Memory{"b/devcontainer-template.json": head + `"platforms": []}`, "b/.devcontainer.json": `{"image": "a:1"}`}, "SBX909"},

		{"feature",
			feature(`"options": {"v": {"type": "string", "proposals": [], "default": "1"}, "b": {"type": "boolean", "default": true}}}`), ""},
		{"feature's boolean as text", feature(`"options": {"b": {"type": "boolean", "default": "true"}}}`), "SBX202"},
		{"feature's text as boolean", feature(`"options": {"b": {"type": "string", "default": true}}}`), "SBX202"},
		{"enum and proposals", feature(`"options": {"b": {"type": "string", "enum": [], "proposals": [], "default": ""}}}`), "SBX206"},
		{"values of a boolean", feature(`"options": {"b": {"type": "boolean", "enum": ["a"], "default": true}}}`), "SBX206"},
		{"mount as text", feature(`"mounts": ["type=volume,target=/x"]}`), "SBX202"},
		{"mount without target", feature(`"mounts": [{"type": "volume"}]}`), "SBX204"},
		{"text for a boolean", feature(`"privileged": "true"}`), "SBX301"},
		{"command", feature(`"postCreateCommand": {"a": ["b"]}}`), ""},
		{"no install.sh", devcontainer.Memory{"app/devcontainer-feature.json": head + `"keywords": []}`}, "SBX911"},
		{"conflict", feature("\n<<<<<<< a\n}\n>>>>>>> b\n"), "SBX903"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			findings := judge(t, tt.tree)
			if got := reported(findings); got != tt.want {
				t.Errorf("got %q, want %q: %v", got, tt.want, findings)
			}
		})
	}
}
