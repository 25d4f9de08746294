// Package live keeps a policy in force: it is the part of the firewall that runs
// in the firewall's process, in addition to the rules that the kernel holds.
//
//	Policy (read by the caller) ──► Open, Reload ─► resolver, guard, relay ─► firewall.Compile ─► kernel.Apply ─► Verify
//
//	resolver's answer ─► allowed set ─► kernel.Allow        which names led to which address, under which policy
//	guard ─► allowed set, and resolver.Addresses            whether an address is that of a name
//	Reload, drift     ─► allowed set ─► kernel.Prune, Cut   addresses and connections that the policy does not allow end
//	Keep ── kernel.Compare, now and then ─► kernel.Apply, a record
//	kernel.Refusals ─► Options.Record                       each with the policy's reason
//	Verify ── the kernel's rules, real packets, questions to the resolver and the guard
//
// Open and Reload leave either the new policy in force and proved, or, after an
// error, the old one (Open: a closed network). At no moment of a Reload is more
// open than what the old and the new policy allow together. A rule that another program
// changed is restored within some seconds, and recorded.
package live
