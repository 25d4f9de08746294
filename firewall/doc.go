// Package firewall decides what may leave the sandbox. It is pure: it touches
// no file, clock, resolver or kernel.
//
//	sandbox.jsonc "network" -> Network -> NewPolicy -> Policy -> Compile -> Plan -> kernel.Apply
//	                                                     └────> Decide -> Decision{Verdict, Rule, Reason}
//
// One Policy, one matcher: the resolver, the guard, the credential proxy, the
// linter and `policy check` all ask the same Decide.
//
// What the rules of this version hold: both families closed by policy, names
// through the resolver only, addresses by port and protocol, DNS led away,
// nothing but TCP and UDP. What they do not hold yet: the guard. "guard" is
// read and compared (Wider), but no rule enforces it, so another name on the
// same address as an allowed one is reachable on the allowed ports.
package firewall
