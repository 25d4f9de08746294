// Package resolver is the sandbox's only DNS server. A name that the policy
// does not allow never leaves the machine, in no form, and an address becomes
// reachable only because an allowed name led to it.
//
//	client -> UDP or TCP -> parse -> DecideName ──denied──> REFUSED, recorded
//	                                     │allowed
//	                        cache, or a query to an upstream
//	                                     │
//	                        aliases and addresses checked
//	                                     │
//	              reply <- recorded <- addresses in the packet filter's sets
//
// Each question has a goroutine and goes this one way. Clients that ask the
// same while a query is pending share its answer.
//
// Nothing of the client's message is forwarded: the query is built anew from
// the checked name, with a random id and source port. Nothing of the
// upstream's message is passed on either, except the names and addresses that
// were understood. An address is installed before the reply is sent, so that a
// client never connects too early.
package resolver
