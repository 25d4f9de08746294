// Package owner finds the process whose socket a decision of the firewall is
// about, for the record of it. Nothing is ever decided by what it finds.
//
//	audit.Recorder ── Complete(record) ─► socket of these ends (sock_diag, /proc/net)
//	                                        └─► process that has it open:
//	                                             SearchAs: /proc of this PID namespace, with a user's ids for files
//	                                             AskAgent: the agent's first process ─ abstract Unix socket ─► Answer
//	kernel.Holder  ── Hold(src, dst) ────► the same, while the connection's first packet waits
//
// A process is named only if one of its descriptors is the socket. A process
// that hides its descriptors, as Claude Code's own does where its program cannot
// be read, is never named; the record then has the user alone. Each search has a
// limit of time, and there is a limit of searches in a second.
package owner
