// Package trust remembers which settings of which projects a user has accepted.
//
//	settings.ReadFile ──► File ── Of ──► Content: the text and the lists that it names, as they were read
//	                                        │
//	                      Store.Look ◄──────┤  the user's folder: trust.json, trusted/DIGEST.json
//	                          │             │
//	    Trusted | Changed, with what was accepted | Unknown
//	                          │             │
//	             a question, or a command   │
//	                          └─► Store.Accept(project, Content)
//
// A project's settings belong to the code that is sandboxed: it may change them at
// any time, also while a person reads a question about them. So there is nothing to
// race for: the bytes that were read once are judged, shown, remembered by their
// SHA-256 and used, and no file is read again. If the file changes later, the user is
// asked again, and sees the difference.
//
// Trust is about one folder and one content. The same content in another folder is
// another project, also after a move: its code is another, and a relative mount
// leads elsewhere. Linked worktrees of a repository are one project: both git's
// pointer in the worktree and the one back from the repository must agree, and a
// project cannot write the second one.
//
// The store is the user's alone (0700, 0600), one writer at a time, and replaced
// whole. One that cannot be read, or that others can write, is an error with a hint,
// never an empty one: a user who is asked again for everything learns to say yes.
package trust
