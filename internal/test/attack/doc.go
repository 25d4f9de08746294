// Package attack is the list of what an agent can try against its sandbox's
// network, each attempt a small program of its own, with one runner and one
// judge. It is for tests alone.
//
//	All ── Attack ── Do ──► runs inside, as the agent's user (agent/)
//	                          │
//	Internet ◄── the wire ────┘   a made-up one: name servers, TLS, HTTP
//	   └─ Event ──► the judge: what arrived, never what the client says
//
// Every attack also runs where nothing stops it, so that an attempt that could
// not leak anyway is not counted as a protection. docs/attacks.md is the
// result.
package attack
