// Package runplan decides a run before it happens.
//
//	Defaults ◄ the user's file ◄ the project's sandbox.jsonc (may only narrow) ◄ flags      Options.Effective
//	        │ settings.Accepted: all of them together, with the Policy of their network
//	 Options.Plan ─► Plan: specs of two containers, policy, mounts, variables; prints as JSON
//	        │
//	        ├── FitEngine: what the engine can bear, or why it cannot do the run; volumes for files that it does not share
//	        └── MountInit, MountClaude, MountCache: volumes that the engine has already
//
// Options are six subjects, each a type: Layers of settings, Folders, Containers, the agent's
// Environment, ModelUse and Claude. A plan starts nothing and writes nothing. It holds secrets' names, and no values in
// what it prints or in a container's configuration: those are in its Parcel. Package
// sandbox carries it out.
package runplan
