// Package supervisor has a run done by another process of this program, which goes on when
// the person's terminal is suspended, lost or left.
//
//	process on the terminal                          supervisor
//	Start ── the same command line, descriptor 3 ──► Join ──► terminal.Server ── the run
//	Process.Follow: terminal.Client ◄── frames ────────┘ │
//	another process: Follow ◄── Unix socket ── Listen ◄──┘
//	exit code of the run ◄── Leave ── its last words, its code
//
// Until the run begins, both processes have the terminal and its process group, so that
// questions and Ctrl-C work as ever. Then the supervisor leaves the group, and signals
// reach it as frames. A supervisor that ends without a code is told by how it ended.
package supervisor
