// Package runs keeps what a user's runs leave on this machine.
//
//	$XDG_STATE_HOME/sbx-devc ─┬─ runs/ID/  transcript, audit log, report, changes, commits, summary
//	                          │             ▲ newest of a project, by name   ▲ Prune: old ones go
//	                          └─ live/ID   a lock that a run holds: Reap cleans up behind the dead
//
//	RUN, DIR or FILE ─ Home.Log ─► Log: a file here, or in a container that is asked ─ Tail ─► lines
//	                                └─► the policy that it was made under, where somebody kept it
//
// A run's name begins with its time, so that names sort by it. Prune never removes
// a run that has containers, and does nothing where the engine does not say.
package runs
