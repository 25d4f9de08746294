// Package patch reads a unified diff that an agent decided about, judges it, and gives the
// files that it makes of those of a commit.
//
//	changes.diff ─ Parse ─► Patch: files with hunks, notes       strict: any line that it does not know is an error
//	                           │
//	Patch ─ Rules.Judge ─► Verdict: refused, protected, with reasons       names and sizes alone
//	                           │
//	File + its former content ─ File.Apply ─► its new content    hunks fit line for line, or it is an error
//
// One reader judges and applies: with git's own in the second place, a text that the two read
// differently would pass. Nothing here runs a program, follows a link or writes a file. The
// form is the one that package sandbox/changes writes. Links, submodules, other modes than
// those of plain files and renames have none here, so they are refused. A binary file comes as
// git writes it, but whole and not as a delta, with the names of both contents.
package patch
