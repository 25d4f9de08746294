package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/org/claude-sandbox/internal/test/outsidetest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// outside is what containers on the default bridge see of the world: a name
// server that answers every name with its own address, and a web server. A
// leak is judged by what arrives here.
type outside struct {
	addr    string // the bridge's address on this machine
	allowed int    // port of the web server that policies allow
	other   int    // port of one that they do not
	outsidetest.World
}

// theOutside is the one world of all tests that run at a time: the bridge has
// one port 53. A packet that leaks out of any of them fails each that is under way.
var theOutside struct {
	mu    sync.Mutex
	users int
	world *outside
	close func()
}

// newOutside listens on the engine's bridge, which needs root for port 53 and
// an engine on this very machine.
func newOutside(t *testing.T, bridge string) *outside {
	t.Helper()
	w := &theOutside
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.users == 0 {
		lasting := &lastingTest{TB: t}
		w.world, w.close = serveOutside(lasting, bridgeAddress(t, bridge)), lasting.end
	}
	w.users++
	t.Cleanup(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.users--; w.users == 0 {
			w.close()
		}
	})
	return w.world
}

// lastingTest is a test whose clean-up waits for the last user of what it made.
type lastingTest struct {
	testing.TB
	cleanups []func()
}

func (l *lastingTest) Cleanup(f func()) { l.cleanups = append(l.cleanups, f) }

func (l *lastingTest) end() {
	for _, f := range slices.Backward(l.cleanups) {
		f()
	}
}

func serveOutside(t testing.TB, addr string) *outside {
	o := &outside{addr: addr}
	dns, err := net.ListenPacket("udp", net.JoinHostPort(addr, "53"))
	if err != nil {
		testenv.Missing(t, "an engine whose bridge is on this machine", err.Error())
	}
	o.ServeNames(t, dns, func(string) ([]netip.Addr, uint32, bool) { return []netip.Addr{netip.MustParseAddr(addr)}, 60, true })
	for _, port := range []*int{&o.allowed, &o.other} {
		l, err := net.Listen("tcp", net.JoinHostPort(addr, "0"))
		if err != nil {
			t.Fatal(err)
		}
		*port = l.Addr().(*net.TCPAddr).Port
		o.ServeWeb(t, l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello from outside") }))
	}
	return o
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

// leaks returns everything that arrived and is not about the allowed host.
func (o *outside) leaks(allowedHost string) (leaks []string) {
	for _, n := range o.Names() {
		if n != allowedHost {
			leaks = append(leaks, "name "+n)
		}
	}
	for _, r := range o.Requests() {
		if r.Host != fmt.Sprintf("%s:%d", allowedHost, o.allowed) {
			leaks = append(leaks, "request to "+r.Host)
		}
	}
	return slices.Compact(leaks)
}

func (o *outside) wasHit() bool { return len(o.Requests()) > 0 }

// newSite is a web server on the engine's bridge that no other test knows.
func newSite(t *testing.T) (port int) {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(bridgeAddress(t, "docker0"), "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: l,
		Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello from the site") })}}
	server.Start()
	t.Cleanup(server.Close)
	return l.Addr().(*net.TCPAddr).Port
}
