package run

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/mcp"
	"github.com/org/claude-sandbox/settings"
)

// mcpFlags choose the MCP servers that Claude starts in the sandbox.
type mcpFlags struct {
	configs []string
	Servers []string
	through []string

	passthroughs []runplan.Passthrough
}

func (o *mcpFlags) Register(f *pflag.FlagSet) {
	f.StringArrayVar(&o.configs, "mcp-config", nil,
		"start the MCP servers of this JSON or YAML `FILE`, or of JSON itself, in the sandbox; ${NAME} is the agent's variable or secret")
	f.StringArrayVar(&o.through, "mcp-passthrough", nil,
		"let the agent ask an MCP server on this machine, `NAME=ADDRESS`: http://127.0.0.1:PORT/PATH or unix:/PATH; it is outside of the sandbox")
	f.StringSliceVar(&o.Servers, "mcp-servers", nil, "start these MCP servers alone, by name, of those in settings and --mcp-config")
}

// give adds the servers to what the user gives.
func (o *mcpFlags) give(given *settings.Given, project string) error {
	o.Servers = given.Expand("--mcp-servers", o.Servers)
	for _, text := range given.Expand("--mcp-passthrough", o.through) {
		p, err := runplan.ParsePassthrough(text)
		if err != nil {
			return exitcode.With(exitcode.Usage, fmt.Errorf("--mcp-passthrough: %w", err))
		}
		o.passthroughs = append(o.passthroughs, p)
	}
	for _, name := range o.configs {
		name = strings.TrimPrefix(name, "@") // it is a file in any case
		list, err := readServers(name, project)
		if err != nil {
			code, err := exitcode.Of(err, exitcode.NoInput)
			return exitcode.With(code, fmt.Errorf("--mcp-config: %w", err))
		}
		given.MCP.Servers = settings.MergeMCPServers(given.MCP.Servers, list)
	}
	return nil
}

// readServers reads a file, or JSON that is given in its place.
func readServers(name, project string) ([]settings.MCPServer, error) {
	if strings.HasPrefix(strings.TrimSpace(name), "{") {
		return serversOf("the JSON", []byte(name))
	}
	f, err := session.OpenFile(homePath(name), project)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mcp.MaxSize+1))
	if err != nil {
		return nil, err
	}
	return serversOf(name, text)
}

func serversOf(name string, text []byte) ([]settings.MCPServer, error) {
	list, err := mcp.Read(name, text)
	if err != nil {
		return nil, exitcode.With(exitcode.Config, err)
	}
	return list, nil
}
