// Package firewall decides what may leave the sandbox. It is pure: it touches
// no file, clock, resolver or kernel.
//
//	sandbox.jsonc "network" -> Network -> NewPolicy -> Policy -> Compile -> Plan -> kernel.Apply
//	                                                     └────> Decide -> Decision{Verdict, Rule, Reason}
//
// One Policy, one matcher: the resolver, the guard, the credential proxy, the
// linter and `policy check` all ask the same Decide.
package firewall
