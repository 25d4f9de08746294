package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/settings"
)

// server is an MCP server on its standard streams with one tool, which says which key it
// has without telling it.
const server = `while IFS= read -r line; do
	id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	case "$line" in
	*'"initialize"'*) result='{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"test","version":"1"}}' ;;
	*'"tools/list"'*) result='{"tools":[{"name":"look","description":"looks","inputSchema":{"type":"object","properties":{}}}]}' ;;
	*'"tools/call"'*) result='{"content":[{"type":"text","text":"pong '"$1 ${#KEY}"'"}]}' ;;
	*) result='{}' ;;
	esac
	[ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
`

// Servers of the settings run inside, with the run's secrets, and also where there is no
// network. Nothing but Claude's process and theirs knows the secret.
func TestServersRunInTheSandbox(t *testing.T) {
	t.Parallel()
	e := connect(t)
	dir := newProject(t, false)
	if err := os.WriteFile(filepath.Join(dir, "server.sh"), []byte(server), 0o644); err != nil {
		t.Fatal(err)
	}
	o := runplan.Options{
		Layers: runplan.Layers{User: settings.Settings{
			Network: firewall.Network{Mode: firewall.ModeNone},
			Secrets: []settings.Secret{{Name: "CANARY_SECRET"}},
			MCP: settings.MCP{Servers: []settings.MCPServer{
				{Name: "tool", Command: "bash", Args: []string{"/workspace/server.sh", "${STAGE}"}, Env: map[string]string{"KEY": "${CANARY_SECRET}"}},
				{Name: "broken", Command: "no-such-program"},
				{Name: "left-out", Command: "touch", Args: []string{"/workspace/started"}},
			}},
		}},
		Environment: runplan.Environment{Variables: []string{"STAGE=test-stage"}, MCPServers: []string{"tool", "broken"}},
	}
	o.Headless.ExtraArgs = []string{"--settings", `{"env":{"ENABLE_TOOL_SEARCH":"false"}}`}
	tr := (&trial{dir: dir, options: o, secrets: map[string]string{"CANARY_SECRET": canarySecret}, script: fakeapi.Script{
		Turns: []fakeapi.Turn{{Calls: []fakeapi.Call{{Name: "mcp__tool__look", Input: map[string]any{}}}}}, Final: "done",
	}}).run(t, e)
	if tr.err != nil || !tr.result.Outcome.OK() {
		t.Fatalf("%v, %+v", tr.err, tr.result.Outcome)
	}
	if said := strings.Join(tr.said, "\n"); !strings.Contains(said, "warning: the MCP server broken did not start") ||
		strings.Contains(said, "server tool") ||
		!slices.ContainsFunc(tr.result.Warnings, func(w string) bool { return strings.Contains(w, "broken") }) {
		t.Errorf("said %s", said)
	}
	if got := tr.stdout.String(); !strings.Contains(got, "pong test-stage 25") { // the length of the secret
		t.Errorf("the server says %s", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
		t.Error("a server that was not named has started")
	}
	searchFolder(t, tr.state)
	if text := tr.plan.String(); !strings.Contains(text, "--mcp-config=/.sbx-secrets/mcp.json") {
		t.Errorf("the plan is %s", text)
	}
}
