// Package obeyed knows the names in a project that programs on the host obey: git,
// shell prompts, editors, coding agents, commit hooks, CI and builds. An agent that
// writes such a file decides what runs outside its sandbox later.
//
//	HostPaths, GitPaths, StandIn ──► what is read-only for an agent, and what is mounted where it is missing
//	Settings ──► patterns that a run mounts read-only where they exist
//	Opening ──► further files that a devcontainer.json makes the host obey
//	NewTable ──► Table.Class(path) ──► why somebody should look at a change
//	EditorVariables ──► how editors bring sockets of the host into a container
//
// It reads no file. The rules are names, not contents: a program decides by the
// name as well. The list can never be complete, so every change of a run is shown,
// and this package only says which come first.
package obeyed
