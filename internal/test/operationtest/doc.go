// Package operationtest has requests that entries about operations do not allow: for the tests
// of the judge, which refuses each of them, and of the relay, through which none may arrive.
//
//	Classes ─┬─► firewall/operation: the decision, its reason, the entry that would allow it
//	         └─► firewall/relay: sent to a host with TLS, straight and through the relay
package operationtest
