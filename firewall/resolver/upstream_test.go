package resolver

import (
	"bytes"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

func TestAttackForgedReplies(t *testing.T) {
	const forged = "93.184.216.66"
	forge := map[string]func(*dnsmessage.Message){
		"wrong id":       func(m *dnsmessage.Message) { m.ID++ },
		"wrong question": func(m *dnsmessage.Message) { m.Questions[0].Name = dnsmessage.MustNewName("other.example.") },
		"wrong type":     func(m *dnsmessage.Message) { m.Questions[0].Type = dnsmessage.TypeAAAA },
		"no question":    func(m *dnsmessage.Message) { m.Questions = nil },
		"a question":     func(m *dnsmessage.Message) { m.Response = false },
	}
	for name, change := range forge {
		t.Run(name, func(t *testing.T) {
			up := newUpstream(t, func(q dnsmessage.Message, _ string) []dnsmessage.Message {
				bad := replyTo(q)
				bad.Questions = slices.Clone(q.Questions)
				bad.Answers = []dnsmessage.Resource{a("ok.example.", forged, 60)}
				change(&bad)
				good := replyTo(q)
				good.Answers = []dnsmessage.Resource{a("ok.example.", public, 60)}
				return []dnsmessage.Message{bad, good}
			})
			l := newLab(t, labNetwork, up, nil)
			if got := addresses(l.ask(t, "ok.example.", dnsmessage.TypeA)); !slices.Equal(got, []string{public}) {
				t.Errorf("answer %q, want that of the real upstream", got)
			}
		})
	}
}

func TestAttackReplyFromAnotherPort(t *testing.T) {
	attacker, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer attacker.Close()
	up := newUpstream(t, nil)
	up.say(func(q dnsmessage.Message, _ string) []dnsmessage.Message {
		bad := replyTo(q) // right in every respect but where it comes from
		bad.Answers = []dnsmessage.Resource{a("ok.example.", "93.184.216.66", 60)}
		if packed, err := bad.Pack(); err == nil {
			up.mu.Lock()
			to := up.from[len(up.from)-1]
			up.mu.Unlock()
			_, _ = attacker.WriteTo(packed, net.UDPAddrFromAddrPort(to))
		}
		good := replyTo(q)
		good.Answers = []dnsmessage.Resource{a("ok.example.", public, 60)}
		return []dnsmessage.Message{good}
	})
	l := newLab(t, labNetwork, up, nil)
	if got := addresses(l.ask(t, "ok.example.", dnsmessage.TypeA)); !slices.Equal(got, []string{public}) {
		t.Errorf("answer %q, want that of the real upstream", got)
	}
}

func TestAttackFloodOfForgedReplies(t *testing.T) {
	good := okZone()
	up := newUpstream(t, func(q dnsmessage.Message, network string) []dnsmessage.Message {
		if network == "tcp" {
			return good.script(q, network)
		}
		var flood []dnsmessage.Message
		for i := range 4 * maxForged {
			m := replyTo(q)
			m.ID += uint16(i + 1)
			m.Answers = []dnsmessage.Resource{a("ok.example.", "93.184.216.66", 60)}
			flood = append(flood, m)
		}
		return flood
	})
	l := newLab(t, labNetwork, up, nil)
	if got := addresses(l.ask(t, "ok.example.", dnsmessage.TypeA)); !slices.Equal(got, []string{public}) {
		t.Errorf("answer %q, want the one over TCP", got)
	}
}

func TestAttackUpstreamThatAsksUs(t *testing.T) {
	var served atomic.Pointer[lab]
	up := newUpstream(t, func(q dnsmessage.Message, _ string) []dnsmessage.Message {
		l := served.Load()
		if len(l.up.received()) > 50 {
			return nil
		}
		packed, err := q.Pack() // as an engine's resolver passes it on, id and all
		if err != nil {
			return nil
		}
		var reply dnsmessage.Message
		if reply.Unpack(l.server.respond(t.Context(), packed, firewall.UDP, netip.AddrPort{})) != nil {
			return nil
		}
		return []dnsmessage.Message{reply}
	})
	l := newLab(t, labNetwork, up, nil)
	served.Store(l)
	if m := l.ask(t, "ok.example.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeServerFailure {
		t.Errorf("rcode %s, want SERVFAIL", m.RCode)
	}
	if n := len(up.received()); n != 1 {
		t.Errorf("one question became %d", n)
	}
	if r := l.audit()[0]; !strings.Contains(r.Reason, "our own question") {
		t.Errorf("record %+v, want the circle", r)
	}
}

// An attacker who learns the id of an open question has only the letters left to guess.
func TestAttackAskingForTheIdOfAnOpenQuestion(t *testing.T) {
	var l atomic.Pointer[lab]
	up := newUpstream(t, func(q dnsmessage.Message, _ string) []dnsmessage.Message {
		decide := func(name dnsmessage.Name) action {
			question := question{header: q.Header, q: q.Questions[0]}
			question.q.Name = name
			_, do := l.Load().server.decide(question, &audit.Record{})
			return do
		}
		asked := q.Questions[0].Name
		if do := decide(dnsmessage.MustNewName(strings.ToLower(asked.String()))); do != toAnswer {
			t.Errorf("a question with the id of an open one gets %d", do)
		}
		if do := decide(asked); do != toRefuse {
			t.Errorf("our own question gets %d", do)
		}
		m := replyTo(q)
		m.Answers = []dnsmessage.Resource{a(asked.String(), public, 60)}
		return []dnsmessage.Message{m}
	})
	l.Store(newLab(t, labNetwork, up, func(o *Options) { o.MixCase = true }))
	l.Load().ask(t, "a-name-that-will-have-an-upper-case-letter.wild.example.", dnsmessage.TypeA)
	if len(up.received()) != 1 {
		t.Errorf("%d questions arrived", len(up.received()))
	}
}

func TestAttackReplyLoopsBetweenServers(t *testing.T) {
	up := newUpstream(t, okZone().script)
	l := newLab(t, labNetwork, up, nil)
	m := replyTo(question4(1, "ok.example.", dnsmessage.TypeA))
	packed, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	if reply := l.server.respond(t.Context(), packed, firewall.UDP, netip.AddrPort{}); reply != nil {
		t.Errorf("a reply was answered with %q", reply)
	}
	if reply := l.server.respond(t.Context(), []byte("short"), firewall.UDP, netip.AddrPort{}); reply != nil {
		t.Errorf("garbage was answered with %q", reply)
	}
	update := question4(1, "ok.example.", dnsmessage.TypeA)
	update.OpCode = 5
	if got := l.send(t, update); got.RCode != dnsmessage.RCodeNotImplemented {
		t.Errorf("an update got %s, want NOTIMP", got.RCode)
	}
	mustNotArrive(t, up)
}

// The first upstream takes longer than it is waited for alone, and the second one
// is dead.
func TestSlowUpstreamBesideADeadOne(t *testing.T) {
	var asked atomic.Int32
	slow := newUpstream(t, func(q dnsmessage.Message, network string) []dnsmessage.Message {
		if asked.Add(1) == 1 {
			return nil
		}
		return okZone().script(q, network) // it knows by now
	})
	dead := newUpstream(t, func(dnsmessage.Message, string) []dnsmessage.Message { return nil })
	l := newLab(t, labNetwork, slow, func(o *Options) { o.Upstreams = []netip.AddrPort{slow.addr, dead.addr} })
	if got := addresses(l.ask(t, "ok.example.", dnsmessage.TypeA)); !slices.Equal(got, []string{public}) {
		t.Errorf("answer %q, want that of the slow upstream", got)
	}
}

// A packet that is lost does not make a name fail.
func TestAPacketThatIsLost(t *testing.T) {
	for _, mixed := range []bool{false, true} {
		var asked atomic.Int32
		up := newUpstream(t, func(q dnsmessage.Message, network string) []dnsmessage.Message {
			if asked.Add(1) == 1 {
				return nil
			}
			return okZone().script(q, network)
		})
		l := newLab(t, labNetwork, up, func(o *Options) { o.MixCase, o.Timeout = mixed, 10*time.Second })
		if got := addresses(l.ask(t, "ok.example.", dnsmessage.TypeA)); !slices.Equal(got, []string{public}) {
			t.Errorf("mixed letters %t: answer %q, want the upstream's", mixed, got)
		}
		if got := up.received(); len(got) != 2 || !bytes.Equal(got[0], got[1]) {
			t.Errorf("mixed letters %t: %q arrived, want the same message twice", mixed, got)
		}
	}
}
