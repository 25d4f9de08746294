package resolver

import (
	"context"
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// FuzzQuestion sends arbitrary bytes as a client would. Whatever they are, no
// name arrives upstream that the policy does not allow, and a reply is a reply
// to the client's message.
func FuzzQuestion(f *testing.F) {
	for _, m := range []dnsmessage.Message{
		question4(1, "ok.example.", dnsmessage.TypeA),
		question4(2, "x.wild.example.", dnsmessage.TypeAAAA),
		question4(3, "evil.test.", dnsmessage.TypeTXT),
		ednsQuestion("ok.example.", []dnsmessage.Option{{Code: 10, Data: []byte("cookie!!")}}),
	} {
		packed, err := m.Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(packed)
	}
	up := newUpstream(f, func(q dnsmessage.Message, _ string) []dnsmessage.Message {
		return []dnsmessage.Message{replyTo(q)}
	})
	l := newLab(f, labNetwork, up, nil)
	policy := l.server.opts.Policy
	f.Fuzz(func(t *testing.T, message []byte) {
		reply := l.server.respond(context.Background(), message, firewall.TCP, netip.AddrPort{})
		for _, name := range up.names(t) {
			name = name[:len(name)-len(lastWord(name))-1]
			if !policy.DecideName(name).Allowed() {
				t.Fatalf("%q arrived upstream", name)
			}
		}
		up.mu.Lock()
		up.got = nil
		up.mu.Unlock()
		if reply == nil {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(reply); err != nil {
			t.Fatalf("the reply cannot be read: %v", err)
		}
		if !m.Response || reply[0] != message[0] || reply[1] != message[1] {
			t.Fatalf("the reply %+v is none to %q", m.Header, message)
		}
	})
}

func lastWord(s string) string {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == ' ' {
			return s[i+1:]
		}
	}
	return s
}

// FuzzReply reads arbitrary bytes as an upstream reply. Only addresses that
// the records tie to the asked name come out, as a naive twin finds them.
func FuzzReply(f *testing.F) {
	seed := replyTo(question4(1, "ok.example.", dnsmessage.TypeA))
	seed.Answers = []dnsmessage.Resource{
		cname("ok.example.", "b.test.", 30), a("b.test.", public, 60), a("other.test.", "10.0.0.1", 60), aaaa("b.test.", "2001:db8::1", 1),
	}
	packed, err := seed.Pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Fuzz(func(t *testing.T, reply []byte) {
		l, err := readReply(reply, "ok.example")
		if err != nil {
			return
		}
		if l.ttl < 0 || l.ttl > maxTTL || l.open < minOpen+graceTTL || l.open > maxTTL+graceTTL || len(l.aliases) > maxAliases ||
			len(l.addrs) > maxAddresses {
			t.Fatalf("out of bounds: %+v", l)
		}
		tied := tiedTo(reply, "ok.example")
		for _, addr := range l.addrs {
			if !slices.Contains(tied, addr) {
				t.Fatalf("%s is not tied to the asked name", addr)
			}
		}
	})
}

// tiedTo is readReply without care for speed, order or limits: the addresses
// of every name that some chain of aliases reaches.
func tiedTo(reply []byte, name string) []netip.Addr {
	var m dnsmessage.Message
	var p dnsmessage.Parser
	if _, err := p.Start(reply); err != nil || p.SkipAllQuestions() != nil {
		return nil
	}
	for {
		before := p
		r, err := p.Answer()
		if err != nil { // it may be of another class, whatever it holds
			if p = before; p.SkipAnswer() != nil {
				break
			}
			continue
		}
		m.Answers = append(m.Answers, r)
	}
	names := map[string]bool{name: true}
	for range m.Answers {
		for _, r := range m.Answers {
			if c, ok := r.Body.(*dnsmessage.CNAMEResource); ok {
				owner, err1 := hostName(r.Header.Name)
				target, err2 := hostName(c.CNAME)
				if err1 == nil && err2 == nil && names[owner] {
					names[target] = true
				}
			}
		}
	}
	var addrs []netip.Addr
	for _, r := range m.Answers {
		owner, err := hostName(r.Header.Name)
		if err != nil || !names[owner] {
			continue
		}
		switch body := r.Body.(type) {
		case *dnsmessage.AResource:
			addrs = append(addrs, netip.AddrFrom4(body.A))
		case *dnsmessage.AAAAResource:
			addrs = append(addrs, netip.AddrFrom16(body.AAAA))
		}
	}
	return addrs
}

// BenchmarkLookup measures one lookup through the server and, as "direct",
// straight to the upstream; the difference is what the server adds.
func BenchmarkLookup(b *testing.B) {
	up := newUpstream(b, okZone().script)
	l := newLab(b, labNetwork, up, nil)
	for _, target := range []struct {
		name string
		addr netip.AddrPort
	}{{"direct", up.addr}, {"resolver", l.addr}} {
		b.Run(target.name, func(b *testing.B) {
			client := &lab{addr: target.addr}
			for b.Loop() {
				client.ask(b, "ok.example.", dnsmessage.TypeA)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "µs/lookup")
		})
	}
}

// BenchmarkCached is the work for a question whose answer is known, without
// the sockets.
func BenchmarkCached(b *testing.B) {
	l := newLab(b, labNetwork, newUpstream(b, okZone().script), withCache(10))
	l.ask(b, "ok.example.", dnsmessage.TypeA)
	m := question4(7, "ok.example.", dnsmessage.TypeA)
	packed, err := m.Pack()
	if err != nil {
		b.Fatal(err)
	}
	l.server.opts.Record = func(audit.Record) error { return nil }
	for b.Loop() {
		if reply := l.server.respond(b.Context(), packed, firewall.UDP, netip.AddrPort{}); len(reply) < 40 {
			b.Fatal("no answer")
		}
	}
}
