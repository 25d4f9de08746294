// Package learn proposes what an allowlist lacks, from what a sandbox did while
// its network was in mode audit. It is pure.
//
//	audit records -> seen destinations ─┬─> what the policy opens already: nothing to do
//	                                    ├─> what is better left to a person: LeftOut, with the reason
//	                                    └─> entries -> Lesson -> Lesson.Network
//
// The proposal is the smallest that covers what was seen: the exact name with
// the ports that were used. A preset or a wildcard opens names that were not asked
// for, so both are proposed only on demand. An address that no name led to becomes an
// address entry, which the guard does not look into. At a host whose TLS was opened
// the records have operations, and each of them becomes the typed entry for it alone.
//
// The records are the agent's words as much as the firewall's: whoever can make
// the sandbox ask for a name can have it proposed. That is why a person reads
// the proposal, and why names that look like data, and what was refused, are
// left out unless they are asked for.
package learn
