// Package runs keeps what a user's runs leave on this machine.
//
//	$XDG_STATE_HOME/sbx-devc ─┬─ runs/ID/  transcript, audit log, report, changes, commits, summary
//	                          │             ▲ newest of a project, by name   ▲ Prune: old ones go
//	                          └─ live/ID   a lock that a run holds: Reap cleans up behind the dead
//
//	RUN ─ Home.Named, Going, Latest ─► Run ─► Stop, AwaitAgent, Socket: its program, while it goes on
//	                                    └───► Transcript: what Claude printed
//
//	RUN, DIR or FILE ─ Home.Log ─► Log: a file here, or in a container that is asked ─ Tail ─► lines
//	                                └─► the policy that it was made under, where somebody kept it
//
//	RUN or DIR ─ Home.Folder ─► folder ─ WorkOf ─► Work: the project, the tree that holds the files now, the commits
//
// A run leaves its result in one form, whatever its workspace was. changes.json and
// changes.diff compare the tree in which the agent worked, as changes.Take saw it
// before the agent began, with the tree as the agent left it. A run that works on a
// copy or a clone takes and compares that copy, keeps it as a folder below the run's
// own, and names it in the summary as workTree. Nothing else tells the two apart:
// review shows both alike, and apply writes accepted changes of such a tree into
// the project, path by path, if the project still has there what the copy began with.
//
// A run's name begins with its time, so that names sort by it. Prune never removes
// a run that has containers, and does nothing where the engine does not say.
package runs
