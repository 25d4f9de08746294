// Package guard asks every connection to a learned address on the web's ports
// which site it wants. One address serves many sites, so an open address alone
// would open them all.
//
//	client -> packet filter's REDIRECT -> Server -> SO_ORIGINAL_DST: where it went
//	             first bytes: ClientHello or HTTP/1 head, nothing sent on yet
//	                             │ one name
//	             Policy.Decide(name, address, port), and is the address one
//	             of that name's? (Names: what the resolver learned)
//	                │ no                          │ yes
//	   TLS alert or HTTP 403, recorded     recorded, dial the address with the
//	                                       daemon's mark, pass on what was read
//	                                              │
//	   TLS: spliced in the kernel     HTTP/1: every further request is read and
//	                                  judged alike; bodies and replies spliced
//
// The packet filter lets only the guard connect to learned addresses on these
// ports, so that its death closes them.
//
// Refusals: no name, an address as the name, two names, a name with
// characters that no host name has, a name that the policy does not allow, a
// destination that is not the name's, HTTP with two hosts or none or another
// in the target, CONNECT, any doubt about where a request ends, HTTP/2 without
// TLS, and every other protocol. A second ClientHello, which a server can ask
// for (HelloRetryRequest), must carry the first one's name; one that was not
// asked for is refused, and so is all that follows a hello which the site does
// not answer in TLS. WebSocket begins when the server has said so and proves that
// it means it: it answers the request's key. Host is passed on in the usual
// spelling, for there are servers that know no other.
//
// A host at which entries name operations is opened: package relay gets the
// connection with its ClientHello, and connects to the site by the guard's dialer, to
// addresses that are judged as above. Such a host hears nothing without TLS, and a
// connection ends when a new policy opens what was sealed. In a policy with such entries
// the guard also gets connections that are open by address: they pass unread, unless they
// are for an opened host or its address could be theirs. In mode audit it gets those to
// learned addresses on port 443, and refuses none for what it asks.
//
// The guard does not see into the TLS of other hosts: the Host of a request, renegotiated
// names, whose session a ticket is, and the inner name of Encrypted Client
// Hello, whose outer name is judged. A front end that serves two sites and lets
// a client ask for the second over a connection to the first can be used so.
//
// Limits: a ClientHello or an HTTP head is at most 64 KiB on the wire and must
// be complete within 30 seconds of its first byte (of the connection's begin,
// for the first); who is too slow, or waits for the server to speak first, is
// refused. Once a site is decided, connections rest as long as both sides like.
// At most 16,384 are held at a time, or fewer where the process may not open as
// many files; more are recorded and reset. At most 256 may be sending a first
// message over 4 KiB at once, because of the memory that they take.
//
// The bytes pass through two sockets and a pipe in the kernel, so each costs
// about as much processor time again as without the guard. Handing the
// connection over to the kernel altogether was weighed and left: joining two
// sockets there (BPF sockmap) takes a capability that the firewall's container
// has no other use for and carries every byte through both sockets as well, and
// letting the packets of a connection pass once its first ones were read would
// mean to believe that what is sent again is what was read.
package guard
