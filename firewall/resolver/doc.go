// Package resolver is the sandbox's only DNS server. A name that the policy
// does not allow never leaves the machine, in no form, and an address becomes
// reachable only because an allowed name led to it.
//
//	client -> UDP or TCP -> parse -> DecideName ──denied──> REFUSED, recorded
//	                                     │allowed
//	              fresh question -> upstream -> aliases, addresses checked
//	                                                 │
//	              reply <- recorded <- addresses in the packet filter's sets
//
// Nothing of the client's message is forwarded: the question is built anew
// from the checked name, with an id and a source port of our own. Nothing of
// the upstream's message is passed on either, but the names and addresses that
// were understood. An address is installed before the reply is sent, so that a
// client never connects too early.
package resolver
