// Package workspace knows what the host obeys in a project's folder, so that an
// agent which works there cannot write it.
//
//	folder ── Inspect ──► Workspace: protected paths and what is there now, repositories, sockets and pipes,
//	   │                             spellings, notes about what cannot be protected
//	   │                        │
//	   │                     Mounts ──► how an agent's container shows it: mounts, placeholders, git directories   pure
//	   │                        │  CheckSources ──► right before the start: no link has come on the way
//	   │                        │  Compare ──► mountinfo of the container: each place shows what it should
//	   │                        └─ Remember ──► Places: the protected paths as they were then ──► Replaced
//	   └─ Place ──► Placed: empty files and folders where something is mounted over a missing path; removed again
//
// Inspect obeys nothing that it finds: it follows no symbolic link but to see where
// a protected path leads, asks git for the text of its configuration alone, and
// every walk is bounded. Workspace.Notes name what it leaves out.
//
// The names alone are in package obeyed, which reads no file. Package mountwatch
// guards the mounts from inside a container.
package workspace
