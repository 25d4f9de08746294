package main

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// outside is what containers on the default bridge see of the world: a name
// server that answers every name with its own address, and a web server. A
// leak is judged by what arrives here.
type outside struct {
	addr    string // the bridge's address on this machine
	allowed int    // port of the web server that policies allow
	other   int    // port of one that they do not

	mu    sync.Mutex
	names []string // asked for
	hits  []string // Host headers, with the port
}

// theOutside is the one world of all tests that run at a time: the bridge has
// one port 53. What leaks out of any of them fails each that is under way.
var theOutside struct {
	mu    sync.Mutex
	users int
	world *outside
	close []func() error
}

// newOutside listens on the engine's bridge, which needs root for port 53 and
// an engine on this very machine.
func newOutside(t *testing.T, bridge string) *outside {
	t.Helper()
	w := &theOutside
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.users == 0 {
		o := &outside{addr: bridgeAddress(t, bridge)}
		dns, err := net.ListenPacket("udp", net.JoinHostPort(o.addr, "53"))
		if err != nil {
			testenv.Missing(t, "an engine whose bridge is on this machine", err.Error())
		}
		w.world, w.close = o, []func() error{dns.Close}
		go o.serveDNS(dns)
		for _, port := range []*int{&o.allowed, &o.other} {
			l, err := net.Listen("tcp", net.JoinHostPort(o.addr, "0"))
			if err != nil {
				dns.Close()
				t.Fatal(err)
			}
			*port = l.Addr().(*net.TCPAddr).Port
			w.close = append(w.close, o.serveHTTP(l).Close)
		}
	}
	w.users++
	t.Cleanup(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.users--; w.users == 0 {
			for _, close := range w.close {
				close() //nolint:errcheck // nobody is left to hear it
			}
		}
	})
	return w.world
}

func bridgeAddress(t *testing.T, bridge string) string {
	t.Helper()
	link, err := net.InterfaceByName(bridge)
	if err != nil {
		testenv.Missing(t, "an engine whose bridge is on this machine", err.Error())
	}
	addrs, err := link.Addrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil {
			return ip.IP.String()
		}
	}
	t.Fatalf("the bridge %s has no IPv4 address", bridge)
	return ""
}

func (o *outside) serveHTTP(l net.Listener) *http.Server {
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		o.hits = append(o.hits, r.Host)
		o.mu.Unlock()
		fmt.Fprintln(w, "hello from outside")
	})}
	go server.Serve(l) //nolint:errcheck // ends with Close
	return server
}

func (o *outside) serveDNS(conn net.PacketConn) {
	buf := make([]byte, 1500)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		o.mu.Lock()
		o.names = append(o.names, q.Name.String())
		o.mu.Unlock()
		m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
		if q.Type == dnsmessage.TypeA {
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 60},
				Body:   &dnsmessage.AResource{A: [4]byte(net.ParseIP(o.addr).To4())},
			}}
		}
		if out, err := m.Pack(); err == nil {
			_, _ = conn.WriteTo(out, from)
		}
	}
}

// leaks returns everything that arrived and is not about the allowed host.
func (o *outside) leaks(allowedHost string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var leaks []string
	for _, n := range o.names {
		if strings.TrimSuffix(strings.ToLower(n), ".") != allowedHost {
			leaks = append(leaks, "name "+n)
		}
	}
	for _, h := range o.hits {
		if h != fmt.Sprintf("%s:%d", allowedHost, o.allowed) {
			leaks = append(leaks, "request to "+h)
		}
	}
	return slices.Compact(leaks)
}

func (o *outside) wasHit() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.hits) > 0
}
