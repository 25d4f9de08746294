// Package run has the command run, what it is made of, and the commands that join a run:
// attach, exec and shell.
//
//	flags, SBX_DEVC_* ──► settings ──► session.Project ──► Plan ──► printed by --dry-run
//	                                                        │
//	on a terminal a supervisor does the run                 ▼
//	and this process shows it                           sandbox.Run ──► report, exit code
//
// A group of flags is a type in a file of its own, which registers them and says what
// they mean for the settings or the plan. run.go is the command, plan.go decides a run, and
// start.go does it.
package run
