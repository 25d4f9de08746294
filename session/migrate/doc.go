// Package migrate reads an existing configuration of Claude Code and says what of it the
// user's settings can take.
//
//	~/.claude, ~/.claude.json, the project's .claude ─ Read ─► Plan: Take (settings.Settings, a model), Items taken, Items left
//	                                                     settings.jsonc ─ settings.Extend ─► its new text
//
// The parts that it takes act nowhere but in the sandbox: texts, hosts, a model, servers that the
// sandbox can start. Files of a project are named and never taken, because the settings
// hold for all projects and a project must not write them. The package has a list of what
// is known to be harmless: any other value may be a secret and is in no result, not even in
// an error or a reason. The texts of the user are not read: they may hold anything. No link is followed out
// of the folders, and what is read of a file is bounded.
package migrate
