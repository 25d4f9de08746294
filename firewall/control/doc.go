// Package control is how root speaks to the running firewall: one request and
// one response, a line of JSON each, over a Unix socket.
//
//	sbx-init reload ── Call(path, Request) ──► Serve ── root? (SO_PEERCRED) ──► handle(Request) ─► Response
//
// The socket is a file with mode 0600, not an abstract name, which every process
// of the network namespace could reach. Serve answers root alone, also if the
// mode changes. Requests are handled one at a time. A command that goes on keeps its
// connection: the tunnel to the process that holds keys is one.
package control
