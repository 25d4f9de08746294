// Package copytree copies a project's folder for an agent to work in.
//
//	project ── Copy ──► tree: folders, plain files, links as they are; bounded
//	             │        └─ an empty folder in the place of each git directory, where a run mounts the agent's own
//	             └─► notes: what is left out
//
// No link is followed: neither of the project, where another agent may work meanwhile,
// nor of the tree. A copy that fails leaves a tree that the caller removes.
package copytree
