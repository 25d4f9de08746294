package detect

import (
	"fmt"
	"path"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// runners fetch an MCP server when it starts, from the ecosystem of a preset.
var runners = map[string]string{"npx": "npm", "bunx": "npm", "pnpm": "npm", "uvx": "pypi", "uv": "pypi", "pipx": "pypi"}

// mcp proposes what the project's MCP servers need. Their environment is not
// looked at.
func (l *look) mcp() {
	const file = ".mcp.json"
	text := l.tree.read(file)
	if text == nil {
		return
	}
	doc, _ := jsonc.Parse(file, text)
	if doc == nil {
		l.note(file, 0, "%s cannot be read as JSON", file)
		return
	}
	for _, m := range doc.Root.Member("mcpServers").Fields() {
		line, _ := doc.Position(m.NameStart)
		reason := fmt.Sprintf("the MCP server %q", m.Name)
		if address, ok := m.Value.Member("url").Str(); ok {
			l.offer(address, reason, file, line)
		}
		command, ok := m.Value.Member("command").Str()
		if !ok {
			continue
		}
		switch command = path.Base(command); {
		case existing([]string{runners[command]}) != "":
			add(&l.report.Presets, Proposal{Value: runners[command], Reason: reason + " is fetched by " + command, File: file, Line: line})
		case command == "docker" || command == "podman":
			l.note(file, line, "%s is started with %s, which the sandbox does not have", reason, command)
		}
	}
}
