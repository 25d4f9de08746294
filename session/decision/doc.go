// Package decision makes a person's word about the hunks of a run true in the project.
//
//	a project or a run's name, a Purpose ─ Find ─► Meant: the run's folder ─ Open ─► Run: its review, and what is decided
//	Run ─ Ask (a person), Auto (globs), All, None ─► Taken ─ Settle ─► what became of each path
//	Run ─ Offered: the reviews of what can be taken ─ DangerOf ─► paths to show, or a refusal where no person can answer
//
//	review.File + which hunks stay ──► what the path must hold now, and what it shall hold ──► Settle ──► project
//	                                                │                                            ▲
//	   the run worked in the project: holds the result, refused hunks go back to what was ───────┤
//	   the run worked on a copy: holds what was, accepted hunks come from the copy ──────────────┘
//
// A path is written only if it still holds what the run left there (or, for a copy,
// what the copy began with): by its sum, or where there is none by its size and the
// kernel's time. Everything else is left alone and said, so that no later edit is ever
// lost. A path that has its content already is done: a decision can be made twice, and after one
// about other hunks of the file. A file is replaced whole or not at all, and no link is followed.
//
// Taken remembers decisions in the run's folder, about hunks and about branches, so that a
// later review asks about the rest, and a command without the name of a run finds the one
// that waits.
package decision
