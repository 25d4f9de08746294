// Package scaffold holds the dev container that init writes into a project, and
// that update, drift and lock keep. Deciding reads files and changes none; what
// was decided is plain data until Write.
//
//	Request + detect.Report ─ Choose ─> lock.Input ─ New ─> Draft ─ Write ─> .devcontainer (all or nothing)
//	                                                                             │
//	                    ┌──────────────────────────── Open ── Folder.Read ───────┘
//	                    ▼
//	                 Locked ─┬─ Update ──> Update: files, conflicts ─ Write ─> .devcontainer
//	                         ├─ Drift ───> findings
//	                         └─ Stale, Renew ──> sandbox.lock, devcontainer-lock.json
//
// Nothing is written through a symbolic link, and a file that is one counts as not
// there. Nothing is written that validate would refuse, or that brings an error
// into a dev container which it does not have. An error carries the exit
// code that says whose it is; one without is a defect of this program.
package scaffold
