// Package forward is an explicit proxy for the sandbox of another tool: CONNECT to the
// hosts whose typed entries say what may be done there, and to no others.
//
//	curl, git: CONNECT api.example.com:443, with the proxy's token
//	   │ Server: a name that entries open, no address, no other port
//	   ▼
//	relay.Relay: TLS with a certificate of the sandbox's, each request judged ─► the host,
//	   │         at an address that firewall.Policy allows for its name
//	   └─ of a host with a key ─► relay.KeyServer in this process
//
// It has no judge of its own: requests are judged by relay and operation, as behind the
// firewall, and addresses by firewall.Policy. The sandbox's own network must lead nowhere
// else: it alone keeps the sandbox from going past the proxy. Hosts with plain
// entries are not served: their connections would have to be judged by SNI alone.
package forward
