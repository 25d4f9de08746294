package attack

import (
	"bytes"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/test/netnstest"
)

// judge tells what the policy allows to arrive from everything else. It is
// strict: what no honest program behind the firewall would cause is a leak,
// whichever attack was under way.
type judge struct{ policy *firewall.Policy }

// leak reports whether a protected sandbox must not have caused the event.
func (j judge) leak(e Event) bool {
	switch e.Kind {
	case FrameEvent:
		return !honestFrame(e)
	case QuestionEvent:
		return !j.honestQuestion(e)
	case SiteEvent:
		return !j.honestSite(e)
	}
	return !j.honestPacket(e)
}

func (j judge) honestPacket(e Event) bool {
	if e.Proto == unix.IPPROTO_ICMPV6 && (e.Type == 135 || e.Type == 136) {
		return !bytes.Contains(e.Raw, []byte("leak-")) // address resolution
	}
	if e.Options || e.Src != netnstest.SandboxAddr4 && e.Src != netnstest.SandboxAddr6 {
		return false
	}
	var proto firewall.Proto
	switch e.Proto {
	case unix.IPPROTO_TCP:
		proto = firewall.TCP
	case unix.IPPROTO_UDP:
		proto = firewall.UDP
	default:
		return false
	}
	if e.Dst.String() == upstreamAddr {
		return e.DstPort == 53 // what is asked there is an event of its own
	}
	for _, name := range []string{"", "ok.test", "cdn-customer.test", "x.wild.test", "many.test", "git.test", "udp.test"} {
		if (name == "" || leadsTo(name, e.Dst)) && j.policy.Decide(name, e.Dst, e.DstPort, proto).Allowed() {
			return true
		}
	}
	return false
}

// leadsTo reports whether the zone has addr for name.
func leadsTo(name string, addr netip.Addr) bool {
	r, _ := lookUp(name)
	if r.alias != "" {
		r, _ = lookUp(r.alias)
	}
	for _, a := range r.addrs {
		if netip.MustParseAddr(a) == addr {
			return true
		}
	}
	return false
}

// honestQuestion accepts what our own resolver asks: an allowed name, a type
// that it knows, and nothing besides. Names below a wildcard are the agent's to
// choose, within the budget, which its attack counts.
func (j judge) honestQuestion(e Event) bool {
	if e.Dst.String() != upstreamAddr || e.QType != 1 && e.QType != 28 {
		return false
	}
	if !strings.HasSuffix(strings.ToLower(e.Name), ".wild.test") && bytes.Contains(bytes.ToLower(e.Raw), []byte("leak-")) {
		return false
	}
	const header, edns = 12, 11
	if len(e.Raw) > header+len(e.Name)+2+4+edns {
		return false // something is behind the question
	}
	return j.policy.DecideName(strings.ToLower(e.Name)).Allowed()
}

// honestSite accepts requests for an allowed site at an address that is that
// site's. A port other than the web's is no site's.
func (j judge) honestSite(e Event) bool {
	if e.DstPort != 80 && e.DstPort != 443 {
		return true // judged as packets
	}
	name := strings.ToLower(e.Name)
	return leadsTo(name, e.Dst) && j.policy.Decide(name, e.Dst, e.DstPort, firewall.TCP).Allowed()
}

// chatter reports what a kernel says without being asked to: multicast
// listener reports, router and neighbour solicitations, and address resolution.
// Where no firewall stops it, it is nobody's attack.
func chatter(e Event) bool {
	switch {
	case e.Kind == FrameEvent:
		return honestFrame(e)
	case e.Kind != PacketEvent:
		return false
	case e.Proto == 2: // IGMP
		return true
	}
	return e.Proto == unix.IPPROTO_ICMPV6 && e.Type >= 130 && e.Type != 137
}
