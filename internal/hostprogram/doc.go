// Package hostprogram finds the programs of this machine that we run, such as git and ssh,
// and never one that an agent can write.
//
//	folders that agents write ──► Exclude ──► PATH of this process, and of all that it starts
//	"git" ──► Find ──► /usr/bin/git, or why it is refused
//
// PATH leads into a project where a user has activated its .venv, or has started us by npm
// or direnv. An agent writes .venv/bin/git there, and PATH makes it ours. So Exclude takes
// out of PATH what is relative and what leads into such a folder, by its spelling, by a
// link on the way, or in the end. Find also refuses a program elsewhere that is a link into
// one. A hard link to a file of the project is not noticed.
package hostprogram
