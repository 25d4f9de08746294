// Package accept asks a user about what a project's own files open, and remembers the
// answer.
//
//	session.Project ─ About ─► Question ── Show: what a run has with them, and what changed since
//	                              │          they were accepted, bounded and in printable characters
//	        the user's folder ────┤
//	        (settings/trust)      ├─ Standing: trusted, changed or unknown
//	                              ├─ Accept ─► trusted until one byte changes
//	                              └─ Decline ─► no question about a mere image until one byte changes
//	a command of ours that writes these files ─ Written, Keep ─► the user's word already: no question
//	trust.json ─ List ─► projects, each with what has become of its files
//
// The bytes that a Question shows are those that Accept remembers and that a run with
// this session.Project uses: no file is read again, so nothing changes between the
// question and the answer. Everything shown is the project's text.
//
// Errors carry the exit code that docs/cli.md lists.
package accept
