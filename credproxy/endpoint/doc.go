// Package endpoint is where other programs of this machine reach a handler that checks a
// token, such as a credproxy.Proxy.
//
//	"127.0.0.1:0" ──► Listen ──► net.Listener ──► Serve, until ctx ends
//
// It promises that only this machine and the networks inside it can connect: an address
// that others may reach is refused, and so is one that stands for all of them.
package endpoint
