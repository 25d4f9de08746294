// Package copytree copies a project's folder for an agent to work in, and carries the copy
// to an engine that does not share this machine's files.
//
//	project ── Copy ──► tree: folders, plain files, links as they are; bounded
//	             │        └─ an empty folder in the place of each git directory, where a run mounts the agent's own
//	             └─► notes: what is left out
//
//	tree ── Pack ──► archive ──► volume of the engine
//	                               … the agent works there …
//	tree ◄── Merge ── archive ◄── the volume: what differs comes into the tree, the rest stays untouched
//
// No link is followed: neither of the project, where another agent may work meanwhile,
// nor of the tree. A copy that fails leaves a tree that the caller removes.
//
// An agent decides what the archive holds that Merge reads. Nothing is written outside of
// the tree whatever it holds, and the tree changes only when the archive has been read to
// its end.
package copytree
