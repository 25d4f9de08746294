// Package obeyed knows the files of a project that programs obey: git, shell
// prompts, editors, coding agents, commit hooks, CI and builds. An agent that
// writes one of them decides what runs outside its sandbox later.
//
//	rules ──► NewTable ──► Table.Class(path) ──► why somebody should look at a change
//	Settings ──► patterns that a run mounts read-only where they exist
//
// The rules are names, not contents: a program decides by the name as well. The
// list can never be complete, so every change of a run is shown, and this
// package only says which come first.
package obeyed
