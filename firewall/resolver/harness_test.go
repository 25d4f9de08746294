package resolver

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// loopback0 asks for a free port.
var loopback0 = netip.MustParseAddrPort("127.0.0.1:0")

// upstream is a scripted DNS server on loopback. It keeps every message that
// arrives, so that a test judges a leak by what was received.
type upstream struct {
	addr netip.AddrPort

	mu     sync.Mutex
	script func(q dnsmessage.Message, network string) []dnsmessage.Message
	got    [][]byte
	from   []netip.AddrPort
}

// newUpstream starts a server that sends what script returns; nil is silence.
func newUpstream(t testing.TB, script func(q dnsmessage.Message, network string) []dnsmessage.Message) *upstream {
	t.Helper()
	pc, l, err := Listen(loopback0)
	if err != nil {
		t.Fatal(err)
	}
	u := &upstream{addr: pc.LocalAddr().(*net.UDPAddr).AddrPort(), script: script}
	t.Cleanup(func() { pc.Close(); l.Close() })
	go func() {
		buf := make([]byte, 65535)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			for _, reply := range u.receive(buf[:n], from.(*net.UDPAddr).AddrPort(), "udp") {
				_, _ = pc.WriteTo(reply, from)
			}
		}
	}()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				message, err := readFramed(conn)
				if err != nil {
					return
				}
				for _, reply := range u.receive(message, netip.AddrPort{}, "tcp") {
					_, _ = conn.Write(framed(reply))
				}
			}()
		}
	}()
	return u
}

// say sets the script of an upstream that its replies need to know.
func (u *upstream) say(script func(q dnsmessage.Message, network string) []dnsmessage.Message) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.script = script
}

func (u *upstream) receive(message []byte, from netip.AddrPort, network string) [][]byte {
	u.mu.Lock()
	u.got = append(u.got, slices.Clone(message))
	u.from = append(u.from, from)
	script := u.script
	u.mu.Unlock()
	var q dnsmessage.Message
	if q.Unpack(message) != nil {
		return nil
	}
	var replies [][]byte
	for _, m := range script(q, network) {
		packed, err := m.Pack()
		if err == nil {
			replies = append(replies, packed)
		}
	}
	return replies
}

// received returns the messages that arrived so far.
func (u *upstream) received() [][]byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.got)
}

// names returns the names that were asked for, with their types.
func (u *upstream) names(t testing.TB) []string {
	var names []string
	for _, message := range u.received() {
		var m dnsmessage.Message
		if err := m.Unpack(message); err != nil {
			t.Fatalf("an unreadable message arrived upstream: %v", err)
		}
		for _, q := range m.Questions {
			names = append(names, q.Name.String()+" "+typeName(q.Type))
		}
	}
	return names
}

// zone is a scripted zone: name and type -> records.
type zone map[string][]dnsmessage.Resource

func (z zone) script(q dnsmessage.Message, _ string) []dnsmessage.Message {
	m := replyTo(q)
	question := q.Questions[0]
	m.Answers = z[strings.ToLower(question.Name.String())+" "+typeName(question.Type)]
	if len(m.Answers) == 0 {
		m.RCode = dnsmessage.RCodeNameError
	}
	return []dnsmessage.Message{m}
}

func replyTo(q dnsmessage.Message) dnsmessage.Message {
	return dnsmessage.Message{
		Header:    dnsmessage.Header{ID: q.ID, Response: true, RecursionDesired: true, RecursionAvailable: true},
		Questions: q.Questions,
	}
}

func a(name, addr string, ttl uint32) dnsmessage.Resource {
	return dnsmessage.Resource{
		Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET, TTL: ttl},
		Body:   &dnsmessage.AResource{A: netip.MustParseAddr(addr).As4()},
	}
}

func aaaa(name, addr string, ttl uint32) dnsmessage.Resource {
	return dnsmessage.Resource{
		Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name), Type: dnsmessage.TypeAAAA, Class: dnsmessage.ClassINET, TTL: ttl},
		Body:   &dnsmessage.AAAAResource{AAAA: netip.MustParseAddr(addr).As16()},
	}
}

func cname(name, target string, ttl uint32) dnsmessage.Resource {
	return dnsmessage.Resource{
		Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name), Type: dnsmessage.TypeCNAME, Class: dnsmessage.ClassINET, TTL: ttl},
		Body:   &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(target)},
	}
}

// installed is one call of an Installer.
type installed struct {
	addr    netip.Addr
	ports   []firewall.Port
	timeout time.Duration
}

// lab is a running server with a scripted upstream, a real policy, and an
// installer and a log that remember.
type lab struct {
	up     *upstream
	server *Server
	addr   netip.AddrPort

	mu      sync.Mutex
	sets    []installed
	known   map[string][]netip.Addr
	records []audit.Record
	onAllow func(netip.Addr) error
	logErr  error
}

func (l *lab) Allow(names []string, addr netip.Addr, ports []firewall.Port, timeout time.Duration) error {
	l.mu.Lock()
	l.sets = append(l.sets, installed{addr, ports, timeout})
	l.known[names[0]] = append(l.known[names[0]], addr)
	hook := l.onAllow
	l.mu.Unlock()
	if hook != nil {
		return hook(addr)
	}
	return nil
}

func (l *lab) Known(name string) []netip.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.known[name])
}

func (l *lab) record(r audit.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, r)
	return l.logErr
}

func (l *lab) installs() []installed {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.sets)
}

func (l *lab) audit() []audit.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.records)
}

var labNetwork = firewall.Network{
	Allow: []string{"ok.example", "git.example:22", "*.wild.example", "db.example"},
	Deny:  []string{"bad.example", "denied.wild.example"},
}

func newLab(t testing.TB, n firewall.Network, up *upstream, change func(*Options)) *lab {
	t.Helper()
	policy, errs := firewall.NewPolicy(n)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	l := &lab{up: up, known: map[string][]netip.Addr{}}
	opts := Options{
		Policy: policy, Installer: l, Record: l.record, Upstreams: []netip.AddrPort{up.addr},
		Timeout: 300 * time.Millisecond,
	}
	if change != nil {
		change(&opts)
	}
	l.server = New(opts)
	pc, ln, err := Listen(loopback0)
	if err != nil {
		t.Fatal(err)
	}
	l.addr = pc.LocalAddr().(*net.UDPAddr).AddrPort()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.server.Serve(ctx, pc, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return l
}

// ask sends one honest question over UDP and returns the reply.
func (l *lab) ask(t testing.TB, name string, typ dnsmessage.Type) dnsmessage.Message {
	t.Helper()
	return l.send(t, dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: typ, Class: dnsmessage.ClassINET}},
	})
}

func (l *lab) send(t testing.TB, m dnsmessage.Message) dnsmessage.Message {
	t.Helper()
	packed, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return l.sendRaw(t, packed)
}

func (l *lab) sendRaw(t testing.TB, message []byte) dnsmessage.Message {
	t.Helper()
	conn, err := net.Dial("udp", l.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(message); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 65535)
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatalf("no reply: %v", err)
	}
	return unpack(t, buf[:n])
}

func unpack(t testing.TB, message []byte) dnsmessage.Message {
	t.Helper()
	var m dnsmessage.Message
	if err := m.Unpack(message); err != nil {
		t.Fatalf("unreadable reply: %v", err)
	}
	return m
}

// addresses lists the addresses in an answer.
func addresses(m dnsmessage.Message) []string {
	var out []string
	for _, r := range m.Answers {
		switch body := r.Body.(type) {
		case *dnsmessage.AResource:
			out = append(out, netip.AddrFrom4(body.A).String())
		case *dnsmessage.AAAAResource:
			out = append(out, netip.AddrFrom16(body.AAAA).String())
		}
	}
	return out
}

var errFull = errors.New("no space left on device")
