// Package migrate reads an existing configuration of Claude Code and says what of it the
// user's settings can take.
//
//	~/.claude, ~/.claude.json, the project's .claude ─ Read ─► Plan: Take (settings.Settings, a model), Items taken, Items left
//	                                                     settings.jsonc ─ settings.Extend ─► its new text
//
// What it takes acts nowhere but in the sandbox: texts, hosts, a model, servers that the
// sandbox can start. Files of a project are named and never taken, because the settings
// hold for all projects and a project must not write them. A value that may be a secret is
// in no result, not even in an error: of secrets there are names. No link is followed out
// of the folders, and what is read of a file is bounded.
package migrate
