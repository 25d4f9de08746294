// Package firewall decides what may leave the sandbox. It is pure: it touches
// no file, clock, resolver or kernel.
//
//	sandbox.jsonc "network" -> Network -> NewPolicy -> Policy -> Compile -> Plan -> kernel.Apply
//	                                                     └────> Decide -> Decision{Verdict, Rule, Reason}
//
// One Policy, one matcher: the resolver, the guard, the forward proxy, the linter,
// the report and `policy check` all ask the same Decide.
//
// The rules hold: both families closed by policy, names through the
// resolver only, addresses by port and protocol, DNS redirected to it, nothing but TCP
// and UDP, and the web's ports of learned addresses only through the guard,
// which asks for the name again. Other ports go by address: two names on one
// address are one place there.
package firewall
