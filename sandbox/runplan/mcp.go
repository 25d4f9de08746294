package runplan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/delivery"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/settings"
)

// mcpFile is the name of the list of servers among the delivered files. It is no name of
// a secret.
const mcpFile = "mcp.json"

// namedServers are those of list that the user has named; all when he names none.
func (o Options) namedServers(list []settings.MCPServer) []settings.MCPServer {
	if o.MCPServers == nil {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(s settings.MCPServer) bool { return !slices.Contains(o.MCPServers, s.Name) })
}

// checkServers errs on a name of the user's that no server has.
func (o Options) checkServers(list []settings.MCPServer) error {
	if o.Project != nil {
		list = settings.MergeMCPServers(list, o.Project.MCP.Servers)
	}
	var known []string
	for _, s := range list {
		known = append(known, s.Name)
	}
	for _, name := range o.MCPServers {
		if !slices.Contains(known, name) {
			hint := "name it in \"mcp\" of your own settings or in a file for --mcp-config"
			if len(known) > 0 {
				hint = "there are: " + strings.Join(known, ", ")
			}
			return diag.WithHint(fmt.Errorf("%w: there is no MCP server %q", ErrConfig, name), "%s", hint)
		}
	}
	return nil
}

// addServers has Claude start the servers of a run, inside, from a file that is delivered:
// it may hold keys.
func (p *Plan) addServers(o *Options, s settings.Settings) error {
	for _, one := range o.Passthroughs {
		s.MCP.Servers = settings.MergeMCPServers(s.MCP.Servers, []settings.MCPServer{one.server()})
		p.Warnings = append(p.Warnings, fmt.Sprintf("the agent can ask the MCP server %s on this machine (%s), which no firewall of the run's "+
			"holds", one.Name, cmp.Or(one.Socket, one.URL.String())))
	}
	if len(s.MCP.Servers) == 0 {
		return nil
	}
	type server struct {
		Type    string            `json:"type,omitempty"`
		Command string            `json:"command,omitempty"`
		Args    []string          `json:"args,omitempty"`
		Env     map[string]string `json:"env,omitempty"`
		URL     string            `json:"url,omitempty"`
		Headers map[string]string `json:"headers,omitempty"`
	}
	all := map[string]server{}
	for _, m := range s.MCP.Servers {
		all[m.Name] = server{m.Type, m.Command, m.Args, m.Env, m.URL, m.Headers}
		p.MCP = append(p.MCP, m.Name)
		for _, values := range []map[string]string{m.Env, m.Headers} {
			for name, value := range values {
				if !strings.Contains(value, "${") {
					p.hidden = append(p.hidden, redact.SecretsOf([]string{name + "=" + value})...)
				}
			}
		}
		if preset := packagesOf(m.Command); preset != "" && !slices.Contains(s.Network.Presets, preset) {
			p.Notes = append(p.Notes, fmt.Sprintf("the MCP server %s runs %s: without --preset %s it starts only if the image or the project's "+
				"cache has its package", m.Name, m.Command, preset))
		}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": all})
	if err != nil {
		return fmt.Errorf("%w: mcp: %w", ErrConfig, err)
	}
	p.servers = text
	o.Headless.MCPConfigs = append(slices.Clone(o.Headless.MCPConfigs), delivery.File(mcpFile))
	return nil
}

// packagesOf is the preset from which a program gets the packages that it runs; "" = it
// gets none.
func packagesOf(command string) string {
	switch path.Base(command) {
	case "npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "bun":
		return "npm"
	case "uvx", "uv", "pipx":
		return "pypi"
	}
	return ""
}

// FailedServers says which servers of the run did not start. Claude goes on without
// them. The names are the agent's word.
func (p *Plan) FailedServers(begun *agent.Init) (lines []string) {
	for _, s := range begun.MCP {
		if s.Status == "failed" && slices.Contains(p.MCP, s.Name) {
			lines = append(lines, fmt.Sprintf("the MCP server %s did not start: its program, its variables or its host is missing", s.Name))
		}
	}
	return lines
}

// serverVariable is a variable in a server's settings, as Claude Code expands it; with a
// default it may be missing.
var serverVariable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-)?`)

// checkServerVariables errs when a server needs a variable that the agent does not have:
// Claude Code would start it with the text "${NAME}".
func (p *Plan) checkServerVariables(servers []settings.MCPServer) error {
	known := map[string]bool{"PATH": true, "PWD": true, "HOSTNAME": true} // of every container
	for _, v := range slices.Concat(p.Agent.Env, p.variables) {
		name, _, _ := strings.Cut(v, "=")
		known[name] = true
	}
	for _, secret := range p.Secrets {
		known[secret.Variable()] = true
	}
	var missing []string
	first := ""
	for _, m := range servers {
		texts := append([]string{m.Command, m.URL}, m.Args...)
		texts = slices.AppendSeq(slices.AppendSeq(texts, maps.Values(m.Env)), maps.Values(m.Headers))
		for _, found := range serverVariable.FindAllStringSubmatch(strings.Join(texts, "\n"), -1) {
			one := fmt.Sprintf("%s needs ${%s}", m.Name, found[1])
			if !known[found[1]] && found[2] == "" && !slices.Contains(missing, one) {
				missing, first = append(missing, one), cmp.Or(first, found[1])
			}
		}
	}
	if missing == nil {
		return nil
	}
	slices.Sort(missing)
	return diag.WithHint(fmt.Errorf("%w: MCP servers need variables that the agent does not have: %s", ErrNoSecret,
		strings.Join(missing, ", ")),
		"give it with --secret %s=SOURCE or --env %[1]s, write ${%[1]s:-} if the server works without it, or leave the server out with "+
			"--mcp-servers", first)
}
