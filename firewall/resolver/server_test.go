package resolver

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// The process that asks is looked for while the upstream is asked, and is known
// before anything is recorded, also of an answer that the policy refuses.
func TestProcessIsLookedForMeanwhile(t *testing.T) {
	searched := make(chan struct{}, 2)
	up := newUpstream(t, func(q dnsmessage.Message, network string) []dnsmessage.Message {
		select {
		case <-searched:
		case <-time.After(5 * time.Second):
			t.Error("nobody looks for the process while the upstream is asked")
		}
		return zone{
			"ok.example. A": {a("ok.example.", public, 60)}, "db.example. A": {a("db.example.", "10.0.0.1", 60)},
		}.script(q, network)
	})
	l := newLab(t, labNetwork, up, func(o *Options) {
		o.Timeout = 10 * time.Second
		o.Complete = func(r *audit.Record) {
			if r.Verdict != firewall.Allow || !r.Src.IsValid() {
				t.Errorf("looked for the process of %+v", r)
			}
			searched <- struct{}{}
			r.PID = 7
		}
	})
	l.ask(t, "ok.example.", dnsmessage.TypeA)
	l.ask(t, "db.example.", dnsmessage.TypeA)
	verdicts := []firewall.Verdict{firewall.Allow, firewall.Deny}
	for i, r := range l.audit() {
		if r.Verdict != verdicts[i] || r.PID != 0 || r.Found == nil || r.Found.PID != 7 {
			t.Errorf("recorded: %+v, found %+v", r, r.Found)
		}
	}
	if n := len(l.audit()); n != 2 {
		t.Errorf("%d records", n)
	}
}

func TestAllowedNameIsInstalledAndAnswered(t *testing.T) {
	up := newUpstream(t, zone{
		"ok.example. A":     {a("ok.example.", "192.0.2.10", 300), a("ok.example.", "198.51.100.7", 120)},
		"ok.example. AAAA":  {aaaa("ok.example.", "2a00:1450::5", 300)},
		"git.example. A":    {cname("git.example.", "lb.cdn.test.", 20), a("lb.cdn.test.", "203.0.113.1", 300)},
		"x.wild.example. A": {a("x.wild.example.", "93.184.216.34", 0)},
	}.script)
	n := labNetwork
	n.Allow = append(slices.Clone(n.Allow), "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24") // documentation ranges are special
	l := newLab(t, n, up, nil)

	m := l.ask(t, "OK.example.", dnsmessage.TypeA)
	if got, want := addresses(m), []string{"192.0.2.10", "198.51.100.7"}; !slices.Equal(got, want) {
		t.Fatalf("answer %q (%s), want %q", got, m.RCode, want)
	}
	if got := m.Questions[0].Name.String(); got != "OK.example." {
		t.Errorf("the reply repeats the question as %q, want it as asked", got)
	}
	if ttl := m.Answers[0].Header.TTL; ttl != 120 {
		t.Errorf("TTL %d, want the least of the records, 120", ttl)
	}
	web := []firewall.Port{{Number: 80, Proto: firewall.TCP}, {Number: 443, Proto: firewall.TCP}}
	sets := l.installs()
	if len(sets) != 2 || sets[0].addr.String() != "192.0.2.10" || sets[0].timeout != 180*time.Second {
		t.Errorf("installed %+v, want both addresses for TTL + 60 s", sets)
	}
	for _, p := range web {
		if !slices.Contains(sets[0].ports, p) {
			t.Errorf("ports %v lack %v", sets[0].ports, p)
		}
	}

	if got := addresses(l.ask(t, "ok.example.", dnsmessage.TypeAAAA)); !slices.Equal(got, []string{"2a00:1450::5"}) {
		t.Errorf("AAAA answer %q", got)
	}

	m = l.ask(t, "git.example.", dnsmessage.TypeA)
	if got := addresses(m); len(m.Answers) != 2 || !slices.Equal(got, []string{"203.0.113.1"}) {
		t.Errorf("alias answer %v", m.Answers)
	}
	sets = l.installs()
	last := sets[len(sets)-1]
	if want := (firewall.Port{Number: 22, Proto: firewall.TCP}); len(last.ports) != 1 || last.ports[0] != want {
		t.Errorf("the address behind the alias opens %v, want the asked name's port %v", last.ports, want)
	}
	if last.timeout != 80*time.Second {
		t.Errorf("timeout %v, want that of the alias's TTL, 80s", last.timeout)
	}

	m = l.ask(t, "x.wild.example.", dnsmessage.TypeA)
	if got := m.Answers[0].Header.TTL; got != 0 {
		t.Errorf("TTL 0 became %d", got)
	}
	sets = l.installs()
	if last := sets[len(sets)-1]; last.timeout != 65*time.Second {
		t.Errorf("an address with TTL 0 is open for %v, want 65s", last.timeout)
	}
	for _, r := range l.audit() {
		if r.Verdict != firewall.Allow || r.Rule == "" {
			t.Errorf("record %+v, want allow with its rule", r)
		}
	}
}

func TestUpstreamsSayingNoArePassedOn(t *testing.T) {
	up := newUpstream(t, zone{"ok.example. A": nil}.script)
	l := newLab(t, labNetwork, up, nil)
	if m := l.ask(t, "ok.example.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeNameError {
		t.Errorf("rcode %s, want NXDOMAIN", m.RCode)
	}
}

func TestTypesThatPointElsewhereHaveNoAnswer(t *testing.T) {
	up := newUpstream(t, zone{}.script)
	l := newLab(t, labNetwork, up, func(o *Options) { o.NoIPv6 = true })
	for _, typ := range []dnsmessage.Type{typeHTTPS, typeSVCB, dnsmessage.TypeAAAA} {
		if m := l.ask(t, "ok.example.", typ); m.RCode != dnsmessage.RCodeSuccess || len(m.Answers) != 0 {
			t.Errorf("%s: %s with %d answers, want an empty success", typeName(typ), m.RCode, len(m.Answers))
		}
	}
	if got := up.names(t); len(got) != 0 {
		t.Errorf("asked upstream for %q", got)
	}
}

func TestFailoverToTheNextUpstream(t *testing.T) {
	silent := newUpstream(t, func(dnsmessage.Message, string) []dnsmessage.Message { return nil })
	broken := newUpstream(t, func(q dnsmessage.Message, _ string) []dnsmessage.Message {
		m := replyTo(q)
		m.RCode = dnsmessage.RCodeServerFailure
		return []dnsmessage.Message{m}
	})
	good := newUpstream(t, zone{"ok.example. A": {a("ok.example.", "93.184.216.34", 60)}}.script)
	l := newLab(t, labNetwork, silent, func(o *Options) {
		o.Upstreams = []netip.AddrPort{silent.addr, broken.addr, good.addr}
	})
	for range 3 {
		if m := l.ask(t, "ok.example.", dnsmessage.TypeA); len(addresses(m)) != 1 {
			t.Fatalf("no answer: %s", m.RCode)
		}
	}
	if n := len(silent.received()); n != 1 {
		t.Errorf("the silent upstream was asked %d times, want once: the one that answered comes first", n)
	}
}

func TestAllUpstreamsDownIsAServerFailureAndRecorded(t *testing.T) {
	up := newUpstream(t, func(dnsmessage.Message, string) []dnsmessage.Message { return nil })
	l := newLab(t, labNetwork, up, nil)
	if m := l.ask(t, "ok.example.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeServerFailure {
		t.Errorf("rcode %s, want SERVFAIL", m.RCode)
	}
	r := l.audit()[0]
	if r.Verdict != firewall.Allow || !strings.Contains(r.Reason, "could not be resolved") {
		t.Errorf("record %+v, want allow and what went wrong", r)
	}
}

func TestTruncatedReplyIsAskedForOverTCP(t *testing.T) {
	full := zone{"ok.example. A": {a("ok.example.", "93.184.216.34", 60)}}
	up := newUpstream(t, func(q dnsmessage.Message, network string) []dnsmessage.Message {
		if network == "udp" {
			m := replyTo(q)
			m.Truncated = true
			return []dnsmessage.Message{m}
		}
		return full.script(q, network)
	})
	l := newLab(t, labNetwork, up, nil)
	if got := addresses(l.ask(t, "ok.example.", dnsmessage.TypeA)); len(got) != 1 {
		t.Errorf("answer %q, want one address", got)
	}
}

func TestUpstreamWithoutEDNS(t *testing.T) {
	full := zone{"ok.example. A": {a("ok.example.", "93.184.216.34", 60)}}
	up := newUpstream(t, func(q dnsmessage.Message, network string) []dnsmessage.Message {
		if len(q.Additionals) > 0 {
			return []dnsmessage.Message{{Header: dnsmessage.Header{ID: q.ID, Response: true, RCode: dnsmessage.RCodeFormatError}}}
		}
		return full.script(q, network)
	})
	l := newLab(t, labNetwork, up, nil)
	if got := addresses(l.ask(t, "ok.example.", dnsmessage.TypeA)); len(got) != 1 {
		t.Errorf("answer %q, want one address", got)
	}
}

func TestSearchDomainCompletionsDoNotExist(t *testing.T) {
	up := newUpstream(t, zone{}.script)
	l := newLab(t, labNetwork, up, func(o *Options) { o.Search = []string{"corp.lan"} })
	if m := l.ask(t, "ok.example.corp.lan.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeNameError {
		t.Errorf("rcode %s, want NXDOMAIN so that clients go on", m.RCode)
	}
	if got := up.names(t); len(got) != 0 {
		t.Errorf("asked upstream for %q", got)
	}
}

func TestRefusalSaysWhyToClientsWithEDNS(t *testing.T) {
	up := newUpstream(t, zone{}.script)
	l := newLab(t, labNetwork, up, nil)
	m := l.send(t, ednsQuestion("evil.example.", nil))
	var options []dnsmessage.Option
	for _, r := range m.Additionals {
		if opt, ok := r.Body.(*dnsmessage.OPTResource); ok {
			options = opt.Options
		}
	}
	if len(options) != 1 || options[0].Code != 15 || !bytes.Contains(options[0].Data, []byte("evil.example")) {
		t.Errorf("options %v, want an extended error that names the host", options)
	}
}

func TestLargeAnswerIsTruncatedForSmallClients(t *testing.T) {
	var many []dnsmessage.Resource
	for i := range 60 {
		many = append(many, a("ok.example.", netip.AddrFrom4([4]byte{93, 184, 1, byte(i)}).String(), 60))
	}
	up := newUpstream(t, zone{"ok.example. A": many}.script)
	l := newLab(t, labNetwork, up, nil)
	m := l.ask(t, "ok.example.", dnsmessage.TypeA)
	if !m.Truncated || len(m.Answers) != 0 {
		t.Errorf("truncated %v with %d answers, want a bare truncated reply", m.Truncated, len(m.Answers))
	}
}

func ednsQuestion(name string, options []dnsmessage.Option) dnsmessage.Message {
	var h dnsmessage.ResourceHeader
	if err := h.SetEDNS0(1232, 0, false); err != nil {
		panic(err)
	}
	return dnsmessage.Message{
		Header:      dnsmessage.Header{ID: 9, RecursionDesired: true},
		Questions:   []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}},
		Additionals: []dnsmessage.Resource{{Header: h, Body: &dnsmessage.OPTResource{Options: options}}},
	}
}

// An address stays open for an hour at most after the name was asked for, however
// long the zone says: by then it may be somebody else's.
func TestAttackAddressThatStaysOpenForDays(t *testing.T) {
	up := newUpstream(t, (&zone{"ok.example. A": {a("ok.example.", public, 1<<31-1)}}).script)
	l := newLab(t, labNetwork, up, nil)
	if ttl := l.ask(t, "ok.example.", dnsmessage.TypeA).Answers[0].Header.TTL; ttl != 3600 {
		t.Errorf("TTL %d, want 3600", ttl)
	}
	if sets := l.installs(); len(sets) != 1 || sets[0].timeout != time.Hour+time.Minute {
		t.Errorf("opened %+v", sets)
	}
}
