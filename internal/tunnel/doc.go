// Package tunnel carries HTTP over one byte stream: the standard streams of a
// process that a container engine started ("exec"). The model API's proxy thus
// stays in a process on the host, and a container needs no route to it, no
// mounted socket and no open port.
//
//	agent's container        sidecar                              host
//	claude ──HTTP/1.1──► 127.0.0.1:8790
//	                     ServeGuest ══ HTTP/2 over stdin/stdout ══ NewHost ─► http.Handler
//
// The guest is the HTTP/2 client, the host the server. The guest opens its
// port first and then asks the host for readyPath under readyHost, so the
// host knows without waiting or polling that the port accepts connections
// (Host.WaitReady). No client of the guest can send that request: the guest
// gives every request it forwards another host name.
//
// Requests travel concurrently in streams of one connection. A client that
// goes away cancels its request's context on the host. When the stream ends,
// requests under way are answered with 502 in the shape of the Messages API
// and the guest returns.
package tunnel
