// Package outsidetest is the world beyond a sandbox in tests: a name server and web
// servers that note what reaches them. A leak is judged by what arrived, and not
// by what the sandbox says.
//
//	PacketConn ─> ServeNames ── Zone ──> answer ─┐
//	Listener ───> ServeWeb ─── Handler ─> answer ─┴─> World: Names, Requests
//
// The caller makes the sockets, in whatever network namespace they have to be.
package outsidetest
