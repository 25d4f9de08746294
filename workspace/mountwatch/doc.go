// Package mountwatch guards, from inside a container, the mounts that keep an
// agent from what the host obeys in a project. It is linked into sbx-init.
//
//	Start ──► mountinfo ──► the mounts that are read-only or over a .git, and what git's files among them hold
//	CheckSpellings ──► refuses where another spelling of a path leads past a mount over a .git
//	Await ──► poll on mountinfo, inotify on the folders above ──► an error as soon as one is gone or written to
//
// Nothing can mount again what went: the caller ends everything in the container.
// Between the host's rename and that end lie some milliseconds at most.
package mountwatch
