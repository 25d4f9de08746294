// Package filekind tells what a path that a person named is, a file or a folder, and reads
// files of a project, where anything may be in the place of a file.
//
//	name ── IsRegular, IsFolder ──► bool                 what cannot be looked at is neither
//	name ── Identity ──► text                            another one for a folder that takes its place
//	name, or name below a root ── Open, Read ──► a regular file alone, nothing is waited for
//	name below a root ── ListIn ──► what a folder holds, nothing is waited for
//
// It follows symbolic links; those below a root must not lead out of it.
package filekind
