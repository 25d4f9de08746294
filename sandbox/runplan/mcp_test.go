package runplan

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/test/workspacetest"
	"github.com/org/claude-sandbox/settings"
)

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
		"nobody has":          {Options{Layers: Layers{Project: project, Own: own}}, nil, ErrWidens, "--mcp-servers theirs"},
		"the file is trusted": {Options{Layers: Layers{Project: project, Own: own, TrustProject: true}}, []string{"mine", "theirs"}, nil, ""},
		"the server is named": {Options{Layers: Layers{Project: project, Own: own}, Environment: Environment{MCPServers: []string{"theirs"}}},
			[]string{"theirs"}, nil, ""},
		"another one is named": {Options{Layers: Layers{Project: project, Own: own}, Environment: Environment{MCPServers: []string{"mine"}}},
			[]string{"mine"}, nil, ""},
		"none is wanted": {Options{Layers: Layers{Project: project, Own: own}, Environment: Environment{MCPServers: []string{}}}, nil,
			nil, ""},
		"nothing has the name": {Options{Layers: Layers{Own: own}, Environment: Environment{MCPServers: []string{"mien"}}}, nil, ErrConfig, ""},
	} {
		p, err := New(c.o, Facts{Workspace: workspacetest.Folder(t)})
		if !errors.Is(err, c.fail) || err != nil && !strings.Contains(diag.HintOf(err), c.hint) {
			t.Errorf("%s: %v, hint %q", name, err, diag.HintOf(err))
		} else if err == nil && !slices.Equal(slices.Sorted(slices.Values(p.MCP)), c.want) {
			t.Errorf("%s: %q", name, p.MCP)
		}
		if err == nil && slices.Contains(p.MCP, "mine") != strings.Contains(strings.Join(p.Notes, "\n"), "--preset npm") {
			t.Errorf("%s: the notes are %q", name, p.Notes)
		}
	}
	p := plan(t, Options{
		Layers: Layers{User: settings.Settings{MCP: settings.MCP{Servers: []settings.MCPServer{
			{Name: "far", Type: "http", URL: "https://x.example.com", Headers: map[string]string{"Authorization": "canary-literal-77"}}}}}},
	}, workspacetest.Folder(t))
	if got := p.Redactor(nil).String("x canary-literal-77 y"); strings.Contains(got, "canary") || strings.Contains(p.String(), "canary") {
		t.Errorf("a key that stands in a file is shown: %s", got)
	}
}

// A server that lacks a variable is no server: the run ends before anything starts.
func TestAServerHasItsVariables(t *testing.T) {
	one := settings.MCPServer{Name: "issues", Command: "npx", Args: []string{"--token", "${ISSUES_TOKEN}", "${HOME}/${LEVEL:-info}", "$PRICE"},
		Env: map[string]string{"KEY": "${ISSUES_KEY}"}}
	far := settings.MCPServer{Name: "far", Type: "http", URL: "https://${FAR_HOST}/",
		Headers: map[string]string{"Authorization": "Bearer ${ISSUES_TOKEN}"}}
	servers := settings.MCP{Servers: []settings.MCPServer{one, far}}
	_, err := New(Options{Layers: Layers{User: settings.Settings{MCP: servers}}}, Facts{Workspace: workspacetest.Folder(t)})
	if want := "far needs ${FAR_HOST}, far needs ${ISSUES_TOKEN}, issues needs ${ISSUES_KEY}, issues needs ${ISSUES_TOKEN}"; err == nil ||
		!errors.Is(err, ErrNoSecret) ||
		!strings.HasSuffix(err.Error(), want) || !strings.Contains(diag.HintOf(err), "--secret ISSUES_TOKEN=SOURCE") {
		t.Errorf("got %v, hint %q", err, diag.HintOf(err))
	}
	plan(t, Options{
		Environment: Environment{Variables: []string{"ISSUES_KEY=x"}},
		Layers: Layers{User: settings.Settings{MCP: servers, Env: map[string]string{"FAR_HOST": "x.example.com"},
			Secrets: []settings.Secret{{Name: "ISSUES_TOKEN"}}}},
	}, workspacetest.Folder(t))
	plan(t, Options{Environment: Environment{MCPServers: []string{}}, Layers: Layers{User: settings.Settings{MCP: servers}}},
		workspacetest.Folder(t))
}
