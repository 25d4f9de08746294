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

	"golang.org/x/net/dns/dnsmessage"

	"github.com/org/claude-sandbox/internal/test/netnstest"
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
	mu    sync.Mutex
	asked []string      // names that arrived at the DNS server
	seen  []string      // "address/host" of HTTP requests that arrived
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
	t.Cleanup(func() { udp.Close() })
	go in.serveDNS(udp)
	server := &http.Server{Handler: http.HandlerFunc(in.serveHTTP)}
	t.Cleanup(func() { server.Close() })
	for _, l := range listeners {
		go server.Serve(l)
	}
	return in
}

func (in *internet) serveHTTP(w http.ResponseWriter, r *http.Request) {
	local := r.Context().Value(http.LocalAddrContextKey).(net.Addr).String()
	in.mu.Lock()
	in.seen = append(in.seen, local+"/"+r.Host)
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

func (in *internet) serveDNS(pc net.PacketConn) {
	buf := make([]byte, 4096)
	for {
		n, from, err := pc.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
		in.mu.Lock()
		in.asked = append(in.asked, name)
		in.mu.Unlock()
		reply := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}, Questions: m.Questions}
		addrs, ok := names[name]
		ttl := uint32(30)
		in.mu.Lock()
		moves := in.moves
		in.mu.Unlock()
		if name == "moving.wild.test" && moves != nil {
			addrs, ok, ttl = []string{moves()}, true, 0
		}
		if n := 0; !ok {
			// As many names as somebody likes to count, and 16,384 addresses, which a set holds.
			if _, err := fmt.Sscanf(name, "n%d.", &n); err == nil && strings.HasSuffix(name, ".wild.test") {
				addrs, ok = []string{netip.AddrFrom4([4]byte{93, 185, byte(n >> 8 & 63), byte(n)}).String()}, true
			}
		}
		if !ok {
			reply.RCode = dnsmessage.RCodeNameError
		}
		for _, text := range addrs {
			addr := netip.MustParseAddr(text)
			h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: ttl}
			switch {
			case addr.Is4() && q.Type == dnsmessage.TypeA:
				reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: addr.As4()}})
			case addr.Is6() && q.Type == dnsmessage.TypeAAAA:
				reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
			}
		}
		if packed, err := reply.Pack(); err == nil {
			_, _ = pc.WriteTo(packed, from)
		}
	}
}

// questions returns the names that arrived, sorted, each once.
func (in *internet) questions() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	out := slices.Clone(in.asked)
	slices.Sort(out)
	return slices.Compact(out)
}

// requests returns the HTTP requests that arrived.
func (in *internet) requests() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.seen)
}
