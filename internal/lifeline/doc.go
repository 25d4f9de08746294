// Package lifeline tells a program in a container that its supervisor on the
// host is gone, so that nothing goes on unsupervised.
//
//	host: sbx-devc                firewall's container            agent's container
//	Keep ── a byte every Pause ──► Await, on standard input ──────► first process, by a
//	                               over or silent: ends             connection that ends
//	Begin ────────────────────────► Await ─────────────────────────► starts the command
//	LogEnd ◄── the audit log ────── told to end by SIGTERM
//
// The stream is the container's own standard input, which the engine closes
// when the host's end of it goes: with a process that was killed, too. A machine
// that disappears closes nothing; then silence tells.
package lifeline
