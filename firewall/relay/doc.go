// Package relay opens the TLS of hosts whose entries say what may be done there,
// judges each request inside, and speaks to the host in the client's place.
//
//	guard: the SNI's name was judged, and operation.Rules open it
//	   │ Connection
//	   ▼
//	Relay.Serve ── ClientHello ─► the host: TLS, its certificate verified, the
//	   │                          protocols that the client offers (h2, http/1.1)
//	   │◄── handshake with a certificate of the sandbox's, the protocol that the host chose,
//	   │    or chose before: then both handshakes go on at the same time
//	   ▼
//	net/http's server ─► request, read once ─► operation.Rules.Decide ─► audit record
//	                                            │ no             │ yes
//	                                     403 with words    net/http's transport ─► the host
//	                                                       ◄─ response, streamed, trailers too
//
// Both sides speak the same protocol, and a client's connection has connections
// to the host of its own: nothing of two clients meets.
//
// A request is read once, by net/http, and written anew from this reading. So the
// host cannot take its bytes for another request than the one that was judged:
// lengths, chunks, line ends and the authority are ours. Refused are what net/http
// refuses, and:
//
//   - another authority than the SNI's name and the port of the connection (421),
//     Host and :authority that differ, a target that is no path;
//   - CONNECT, TRACE, every upgrade but one to a WebSocket, a body of a GET or HEAD,
//     announced trailers of a request (others are dropped), a Connection field that
//     names more than the connection's end or that upgrade;
//   - fields by which servers take a request for another one (X-HTTP-Method-Override,
//     X-Original-URL, X-Forwarded-Host and their like), or use a second path (Destination,
//     X-Amz-Copy-Source and their like), two fields where one can
//     count, more than 128 fields or 64 KiB of them;
//   - a form or JSON text of a POST with the member _method. Its body passes until there,
//     and the request to the host is broken off. A compressed one is read whole before.
//
// A WebSocket begins when the host answers the request's key. Its messages pass unread,
// until the host is no longer opened.
//
// TLS takes no early data and no tickets. At most 200 streams are open on a
// connection, and each holds at most 64 KiB that the other side has not read. The
// answers to eight requests at a time hold up to 1 MiB: with less, a host far away
// waits for the client's word that there is room. So a client's connection has up to
// two connections to a host in HTTP/2, and more where the host takes few streams.
// Bodies are passed on as they come; a decision holds as much as its kind needs,
// and all decisions together what operation.Room has. At most 512 requests are
// under way, in the keys' process too.
// No redirect is followed, nothing is compressed or cached. Alt-Svc is taken out
// of responses, because it leads past the relay.
//
// Requests to a host that may have a key of the user's go by the process that holds the
// keys (keyed.go). It is no part of the firewall: in a run it is sbx-devc on the host.
//
//	Relay, as above ── HTTP of an allowed request ──► KeyServer ── credential.Keys.Choose, Attach
//	Connection.Dial ◄─ TLS with the host, as bytes ──    │  answers without the key ◄─ the host
//
// KeyServer is a Relay as well. It reads and judges each request anew by the entries of
// its keys, so that a firewall which lets everything through gets no key for it. The
// firewall makes the connections, so that its rules about addresses hold, and carries
// TLS that it cannot read. Redirects are not followed. No cookie and no other session of
// the key's owner comes back. The key is masked in heads,
// bodies and trailers of answers, also as base64 or hex, and escaped; a
// compressed answer, and one in UTF-16 and the like, is refused. No part of an
// answer is asked for (Range), which could give the key in parts.
//
// The keys of the sandbox's authorities never leave this process. Their certificates
// are good for the names of the opened hosts alone, in every program that trusts them.
package relay
