// Package unconfined starts Claude Code on this machine as it is: without containers,
// firewall, limits and protected paths, because its user said so and was warned.
//
//	flags, SBX_DEVC_SANDBOX_MODE, the user's settings.jsonc ─ Choose ─► Choice: sandbox or none, and who said so
//	PATH ─ Find ─► claude, never one in the project ─┐
//	Session ─ Args ──────────────────────────────────┴─► Command.Run ─► its exit code
//	                                                   └─► Result: conclusion "unsandboxed", whatever Claude says
//
// No file of a project has a part in the choice: code that is to be sandboxed must not
// decide that it is not. Nothing of such a run is judged, and its record cannot be taken
// for that of a run in the sandbox.
package unconfined
