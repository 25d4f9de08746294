// Package mcp reads lists of servers of the Model Context Protocol that a user names.
//
//	JSON: {"mcpServers": {NAME: {…}}}, as Claude Code and editors have it ─┐
//	YAML: a list of name, command, args, env; or as the JSON ──────────────┴─ Read ─► settings.MCPServer, …
//
// Nothing is started here and no ${NAME} is resolved: both is Claude Code's, in the
// sandbox. A text is bounded, names every mistake with its server, and no value of env or
// headers, which may be a secret.
package mcp
