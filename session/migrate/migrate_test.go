package migrate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// FuzzNoCanary puts a drawn secret anywhere into both files: nothing that is taken, shown
// or said may hold it.
func FuzzNoCanary(f *testing.F) {
	const canary = "9f86d081884c7d65Bq2feaa0c55ad015"
	for _, seed := range []string{
		`{"model": "CANARY"}`,
		`{"model": "claude-CANARY", "CANARY": 1}`,
		`{"env": {"CANARY": "1", "ANTHROPIC_CANARY": "1", "LOG_LEVEL": "CANARY", "A": "${CANARY}"}}`,
		`{"permissions": {"allow": ["WebFetch(domain:CANARY.example.com)", "CANARY(x)", "Bash(CANARY:*)", "Bash(npm CANARY)"]}}`,
		`{"permissions": {"deny": ["WebFetch(domain:a.CANARY)", "Read(CANARY)"], "additionalDirectories": ["CANARY"], "ask": ["CANARY"]}}`,
		`{"sandbox": {"network": {"allowedDomains": ["CANARY.example"], "deniedDomains": ["*.CANARY.example:443", "CANARY"]}}}`,
		`{"mcpServers": {"CANARY": {"command": "npx", "args": ["-y", "memory"]}, "a": {"command": "CANARY"}}}`,
		`{"mcpServers": {"a": {"command": "npx", "args": ["-y", "CANARY"]}, "b": {"command": "npx", "args": ["memory", "CANARY"]}}}`,
		`{"mcpServers": {"a": {"command": "x", "args": ["--key=CANARY", "${A:-CANARY}"], "env": {"CANARY": "1"}}}}`,
		`{"mcpServers": {"a": {"command": "x", "env": {"A": "CANARY", "B": "${CANARY}", "C": "${C:-CANARY}"}}}}`,
		`{"mcpServers": {"a": {"url": "https://x/?key=CANARY", "type": "CANARY"}}, "projects": {"CANARY": {"mcpServers": {"CANARY": {}}}}}`,
		`CANARY`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, secret := range []string{canary, strings.ToLower(canary), strings.ToUpper(canary)} {
			if strings.Contains(text, secret) {
				t.Skip("the canary itself is in the text")
			}
			given := []byte(strings.ReplaceAll(text, "CANARY", secret))
			for _, known := range []bool{false, true} {
				p := &Plan{}
				p.settings("settings.json", given)
				p.servers("state.json", serversOf(given), func(string) bool { return known })
				if strings.Contains(strings.ToLower(fmt.Sprintf("%+v", p)), strings.ToLower(canary)) {
					t.Fatalf("%s: %+v", given, p)
				}
			}
		}
	})
}

func serversOf(text []byte) map[string]json.RawMessage {
	var state struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	_ = json.Unmarshal(text, &state)
	return state.Servers
}

func TestPlainNamesAreNotDrawn(t *testing.T) {
	for _, text := range []string{
		"docs", "s3", "us-east-1", "k8s", "auth0", "githubusercontent", "api-v2", "opentelemetry", "spinnerTipsEnabled", "LOG_LEVEL",
		"server-filesystem", "mcp_server_time", "cleanupPeriodDays", "npmjs", "1password", "stackoverflow",
	} {
		if !plain(text) {
			t.Errorf("%s is a name", text)
		}
	}
	for _, text := range []string{
		"", "9f86d081884c7d659a2feaa0c55ad015", "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "deadbeefcafebabe", "jbswy3dpehpk3pxp",
		"AKIAIOSFODNN7EXAMPLE", "sk-ant-api03-AbCdEfGh", "sbp_0102030405060708", "ya29.a0AfH6SMBx", "dGhpcyBpcyBhIHNlY3JldA", "482913",
		"qwrtzpsdfghjklmn", "a b", "x\x1b", strings.Repeat("a-", 40) + "a",
	} {
		if plain(text) {
			t.Errorf("%s may be a secret", text)
		}
	}
}
