// Package netnstest gives a test two network namespaces of its own: a sandbox
// and the internet, joined by one wire, with IPv4 and IPv6. Nothing outside is
// touched, and everything is gone when the test ends.
//
//	┌ Sandbox ─────────────┐   veth   ┌ Internet ───────────────────┐
//	│ 192.0.2.2, 2001:db8::2├─────────┤ 192.0.2.1, 198.51.100.x, …  │
//	│ the rules under test │          │ Capture: every frame        │
//	└──────────────────────┘          └─────────────────────────────┘
//
// A leak is judged by what arrives at the internet's end of the wire. Each
// namespace lives on an OS thread of its own; Do runs a function there.
// Sockets stay in the namespace that they were opened in, so servers may go on
// in any goroutine.
package netnstest
