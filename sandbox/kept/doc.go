// Package kept is what of an agent's home outlives its run, for the runs of one project
// under one profile.
//
//	Open ─► Store: a folder of the user's state, held against other runs
//	          │
//	          ├─ Fill ─► archive ─► volume of Claude's own folder     before the agent starts
//	          ├─ Preferences ─► members of Claude's settings
//	          │     … the agent works …
//	          ├─ Take ◄─ archive of Claude's own folder: messages, prompts, notes, words of settings,
//	          │         the MCP servers that are turned off; nothing that acts
//	          └─ FillTree, TakeTree: a folder that the user named, as it is
//
// An agent wrote all of it, and the next run's agent reads it. So nothing here is ever
// unpacked on the host, and no name in it becomes a name of a file: a store holds
// archives. Anything that acts, such as hooks, servers, helpers, permissions and variables, comes
// in every run from files that a person wrote, and never from a store. Of Claude's
// settings a profile shares a few words between its projects, each from a list; all else
// is one project's.
//
// Archives replace each other whole, so a full disk or a kill leaves the earlier one.
// Take and Fill pass on what Clean passes: a tampered store has no way out either.
package kept
