package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/test/netnstest"
	"github.com/org/claude-sandbox/internal/test/outsidetest"
)

// The hosts of the fake internet. Their addresses are of no special range, as
// on the real one; nobody there ever hears of it.
const (
	dnsAddr   = "93.184.216.53"
	okAddr    = "93.184.216.10"
	evilAddr  = "93.184.216.66"
	okAddr6   = "2a00:1450:4001::10"
	evilAddr6 = "2a00:1450:4001::66"
	metadata  = "169.254.169.254"
	otherAddr = "93.184.216.20"
	thirdAddr = "93.184.216.30"
	newAddr   = "93.184.216.40"
)

// names is the zone of the fake internet.
var names = map[string][]string{
	"ok.test":       {okAddr},
	"ok6.test":      {okAddr6},
	"git.test":      {okAddr},
	"cdn.wild.test": {okAddr},
	"evil.test":     {evilAddr, evilAddr6},
	"rebind.test":   {metadata},
	"lan.test":      {"10.9.8.7"},
	"other.test":    {otherAddr},
	"new.test":      {newAddr},
}

// internet answers DNS on dnsAddr and HTTP on every address, ports 80, 22 and
// 853, and remembers what arrived.
type internet struct {
	*netnstest.Lab
	outsidetest.World
	mu    sync.Mutex
	pages http.Handler  // what serveHTTP answers; nil = a greeting
	moves func() string // where moving.wild.test is at the moment; its answers have no time; nil = nowhere
}

func newInternet(t testing.TB) *internet {
	t.Helper()
	in := &internet{Lab: netnstest.New(t, dnsAddr, okAddr, evilAddr, okAddr6, evilAddr6, metadata, otherAddr, thirdAddr, newAddr)}
	var udp net.PacketConn
	var listeners []net.Listener
	var err error
	in.Internet.Do(func() {
		if udp, err = net.ListenPacket("udp", dnsAddr+":53"); err != nil {
			return
		}
		for _, port := range []string{"80", "22", "853", "53"} {
			var l net.Listener
			if l, err = net.Listen("tcp", ":"+port); err != nil {
				return
			}
			listeners = append(listeners, l)
		}
	})
	if err != nil {
		t.Fatalf("starting the internet: %v", err)
	}
	in.ServeNames(t, udp, in.zone)
	for _, l := range listeners {
		in.ServeWeb(t, l, http.HandlerFunc(in.serveHTTP))
	}
	return in
}

func (in *internet) serveHTTP(w http.ResponseWriter, r *http.Request) {
	local := r.Context().Value(http.LocalAddrContextKey).(net.Addr).String()
	in.mu.Lock()
	pages := in.pages
	in.mu.Unlock()
	if pages != nil {
		pages.ServeHTTP(w, r)
		return
	}
	if r.URL.Path == "/stream" {
		// Until the client is gone.
		for n := 0; r.Context().Err() == nil; n++ {
			if _, err := fmt.Fprintf(w, "tick %d\n", n); err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
		return
	}
	fmt.Fprintf(w, "hello from %s\n", local)
	_, _ = io.Copy(io.Discard, r.Body)
}

func (in *internet) zone(name string) (addrs []netip.Addr, ttl uint32, ok bool) {
	in.mu.Lock()
	moves := in.moves
	in.mu.Unlock()
	if name == "moving.wild.test" && moves != nil {
		return []netip.Addr{netip.MustParseAddr(moves())}, 0, true
	}
	texts, ok := names[name]
	for _, text := range texts {
		addrs = append(addrs, netip.MustParseAddr(text))
	}
	if n := 0; !ok {
		// As many names as somebody likes to count, and 16,384 addresses, which a set holds.
		if _, err := fmt.Sscanf(name, "n%d.", &n); err == nil && strings.HasSuffix(name, ".wild.test") {
			addrs, ok = []netip.Addr{netip.AddrFrom4([4]byte{93, 185, byte(n >> 8 & 63), byte(n)})}, true
		}
	}
	return addrs, 30, ok
}

// questions returns the names that arrived, sorted, each once.
func (in *internet) questions() []string {
	out := in.Names()
	slices.Sort(out)
	return slices.Compact(out)
}

// requests returns the HTTP requests that arrived, as address/host.
func (in *internet) requests() (out []string) {
	for _, r := range in.Requests() {
		out = append(out, r.At+"/"+r.Host)
	}
	return out
}
