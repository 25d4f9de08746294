package mcp

import (
	"reflect"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/settings"
)

func TestFormsOfAList(t *testing.T) {
	want := []settings.MCPServer{
		{Name: "files", Command: "npx", Args: []string{"-y", "@scope/files", "/workspace"}},
		{Name: "github", Command: "github-mcp", Env: map[string]string{"GITHUB_TOKEN": "${GITHUB_TOKEN}"}},
	}
	for name, text := range map[string]string{
		"JSON": `{"mcpServers": {"github": {"type": "stdio", "command": "github-mcp", "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}"}},
	"files": {"command": "npx", "args": ["-y", "@scope/files", "/workspace"]}}}`,
		"YAML": `
# servers of the team
servers:
  - name: files
    command: npx
    args: ["-y", "@scope/files", "/workspace"]
  - name: github
    command: github-mcp
    env:
      GITHUB_TOKEN: ${GITHUB_TOKEN}
`,
		"a YAML list": "- {name: files, command: npx, args: [-y, '@scope/files', /workspace]}\n- {name: github, command: github-mcp, env: " +
			"{GITHUB_TOKEN: '${GITHUB_TOKEN}'}}\n",
		"YAML by name": "mcp_servers:\n  files: {command: npx, args: [-y, '@scope/files', /workspace]}\n  github: {command: github-mcp, env: " +
			"{GITHUB_TOKEN: '${GITHUB_TOKEN}'}}\n",
		"with a BOM, \r": "\xef\xbb\xbf- {name: files, command: npx, args: [-y, '@scope/files', /workspace]}\r\n" +
			"- {name: github, command: github-mcp, env: {GITHUB_TOKEN: '${GITHUB_TOKEN}'}}\r\n",
	} {
		got, err := Read("f", []byte(text))
		for i := range got {
			got[i].Type = ""
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
	got, err := Read("f",
		[]byte(`{"mcpServers": {"far": {"type": "http", "url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer ${T}"}}}}`))
	if err != nil || len(got) != 1 || got[0].URL == "" || got[0].Headers["Authorization"] != "Bearer ${T}" {
		t.Errorf("%+v %v", got, err)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	const secret = "hunter2-secret"
	for text, part := range map[string]string{
		"":                                 "empty",
		"[":                                "f:2:1: it is neither JSON nor YAML",
		"{\"a\": [1,}}":                    "f:1:10: it is neither JSON nor YAML",
		"servers:\n- name: a\n  args: [1}": "f:3:11: it is neither JSON nor YAML",
		"a":                                "no list of servers",
		"[]":                               "it names no server",
		"- {name: a b, command: x}":        "needs a name",
		"- {name: a}":                      "neither command nor url",
		"- {name: a, command: x, url: y}":  "both",
		"- {name: a, url: http://x}":       "type",
		"- {name: a, comand: x}":           `f:1:13: server number 1: "comand" is not known`,
		"mcpServers:\n  a:\n    comand: x": `f:3:5: the server "a": "comand" is not known`,
		"- {name: a, command: x}\n- {name: a, command: y}":                  "twice",
		"- {name: a, command: x, env: {A: [" + secret + "]}}":               "another kind",
		"- &x {name: a, command: b}\n- *x":                                  "alias",
		"- {name: a, command: x}\n---\n- {name: b, command: x}":             "more than one",
		"mcpServers: {a: {name: b, command: x}}":                            "two names",
		"{}":                                                                "they stand by name in",
		"- {name: a, command: x, headers: {A: " + secret + "}, headers: 1}": "",
	} {
		_, err := Read("f", []byte(text))
		if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: got %v, want %q", text, err, part)
		}
	}
}

func TestAServersOwnPolicyIsAnswered(t *testing.T) {
	for _, text := range []string{`{"mcpServers":{"a":{"command":"x","network":"none"}}}`,
		"- {name: a, command: x, allowedDomains: [b.example]}"} {
		_, err := Read("f", []byte(text))
		if hint := diag.HintOf(err); !strings.Contains(hint, "--mcp-passthrough") {
			t.Errorf("%q: %v, hint %q", text, err, hint)
		}
	}
}

// Every server that is read can be started: it has a name and one way to reach it.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{`{"mcpServers":{"a":{"command":"x"}}}`, "- {name: a, command: x}",
		"servers:\n- name: a\n  command: b\n  env: {A: 1}\n", "&a [*a]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := Read("f", text)
		if err != nil {
			return
		}
		names := map[string]bool{}
		for _, s := range list {
			if names[s.Name] || !settings.IsMCPName(s.Name) || (s.Command == "") == (s.URL == "") {
				t.Errorf("%q became %+v", text, list)
			}
			names[s.Name] = true
		}
	})
}
