package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/fakeapi"
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
	e := connect(t)
	dir := newProject(t, false)
	if err := os.WriteFile(filepath.Join(dir, "server.sh"), []byte(server), 0o644); err != nil {
		t.Fatal(err)
	}
	o := Options{User: settings.Settings{
		Network: firewall.Network{Mode: firewall.ModeNone},
		Secrets: []settings.Secret{{Name: "CANARY_SECRET"}},
		MCP: settings.MCP{Servers: []settings.MCPServer{
			{Name: "tool", Command: "bash", Args: []string{"/workspace/server.sh", "${STAGE}"}, Env: map[string]string{"KEY": "${CANARY_SECRET}"}},
			{Name: "broken", Command: "no-such-program"},
			{Name: "left-out", Command: "touch", Args: []string{"/workspace/started"}},
		}},
	}, Variables: []string{"STAGE=test-stage"}, MCPServers: []string{"tool", "broken"}}
	o.Headless.ExtraArgs = []string{"--settings", `{"env":{"ENABLE_TOOL_SEARCH":"false"}}`}
	tr := (&trial{dir: dir, options: o, secrets: map[string]string{"CANARY_SECRET": canarySecret}, script: fakeapi.Script{
		Turns: []fakeapi.Turn{{Calls: []fakeapi.Call{{Name: "mcp__tool__look", Input: map[string]any{}}}}}, Final: "done",
	}}).run(t, e)
	if tr.err != nil || !tr.result.Outcome.OK() {
		t.Fatalf("%v, %+v", tr.err, tr.result.Outcome)
	}
	if said := strings.Join(tr.said, "\n"); !strings.Contains(said, "warning: the MCP server broken did not start") || strings.Contains(said, "server tool") ||
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

// Attack: a project starts a server that nobody has read.
func TestAProjectsServersNeedAWord(t *testing.T) {
	project := &settings.Settings{MCP: settings.MCP{Servers: []settings.MCPServer{{Name: "theirs", Command: "evil"}}}}
	own := settings.Settings{MCP: settings.MCP{Servers: []settings.MCPServer{{Name: "mine", Command: "npx"}}}}
	for name, c := range map[string]struct {
		o    Options
		want []string
		fail error
		hint string
	}{
		"nobody has":           {Options{Project: project, Own: own}, nil, ErrWidens, "--mcp-servers theirs"},
		"the file is trusted":  {Options{Project: project, Own: own, TrustProject: true}, []string{"mine", "theirs"}, nil, ""},
		"the server is named":  {Options{Project: project, Own: own, MCPServers: []string{"theirs"}}, []string{"theirs"}, nil, ""},
		"another one is named": {Options{Project: project, Own: own, MCPServers: []string{"mine"}}, []string{"mine"}, nil, ""},
		"none is wanted":       {Options{Project: project, Own: own, MCPServers: []string{}}, nil, nil, ""},
		"nothing has the name": {Options{Own: own, MCPServers: []string{"mien"}}, nil, ErrConfig, ""},
	} {
		p, err := NewPlan(c.o, Facts{Workspace: folder(t)})
		if !errors.Is(err, c.fail) || err != nil && !strings.Contains(diag.HintOf(err), c.hint) {
			t.Errorf("%s: %v, hint %q", name, err, diag.HintOf(err))
		} else if err == nil && !slices.Equal(slices.Sorted(slices.Values(p.MCP)), c.want) {
			t.Errorf("%s: %q", name, p.MCP)
		}
		if err == nil && slices.Contains(p.MCP, "mine") != strings.Contains(strings.Join(p.Notes, "\n"), "--preset npm") {
			t.Errorf("%s: the notes are %q", name, p.Notes)
		}
	}
	p := plan(t, Options{User: settings.Settings{MCP: settings.MCP{Servers: []settings.MCPServer{
		{Name: "far", Type: "http", URL: "https://x.example.com", Headers: map[string]string{"Authorization": "canary-literal-77"}}}}}}, folder(t))
	if got := p.redactor(nil).String("x canary-literal-77 y"); strings.Contains(got, "canary") || strings.Contains(p.String(), "canary") {
		t.Errorf("a key that stands in a file is shown: %s", got)
	}
}
