// Package initproc is a container's first process: it starts one command, passes
// signals on, collects orphans, ends everything when a watch says so, and
// returns with the command's exit code. It is also the step in which this
// program becomes the command, without any privilege.
//
//	Init.Run ── starts this program again ──► Become(account, command)   drops every privilege, proves it ┐
//	   │                                      BecomeConfined(command)    proves that there is none        ┴► seccomp filter ─► exec
//	   ├── signals ──► the command
//	   ├── orphans ◄── Reaper (not while Children.Pause runs programs of our own)
//	   └── a watch returns ──► everything is killed, exit with the watch's code
//	Init.Serve ── the same without a command
//
//	Shield: out of reach for the command's own user, who is this process's as well
//	ListenLifeline, JoinLifeline: two containers that end together
//
// A command that was started has no capability in any set, no_new_privs, and the
// seccomp filter; if one of these cannot be had, the command is not started.
package initproc
