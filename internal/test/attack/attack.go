//go:build linux

package attack

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Attack is one attempt.
type Attack struct {
	ID     string
	Family string
	Tries  string // what it does, as the report has it
	Source string // a published hole that it stands for; may be empty

	Do func(*Agent) error

	// Leak reports whether an event is the attempt's success. nil asks whether
	// the event bears the attempt's mark: its addresses, port or word.
	Leak func(Event) bool

	// Least is how many such events make a success; 0 = 1. Traffic that a wildcard
	// lets through by design is no leak, more than that is.
	Least int

	// Needs names what the attempt takes that the agent's user does not have.
	// The control then runs as root, who has it. "" = nothing.
	Needs string

	// Wall is for attempts to take the firewall down, which without a firewall
	// are nothing: the control runs as root against ours. After Do the agent
	// tries to reach the outside; Do's error says whether it did its part.
	Wall bool

	// Holds is for a Wall that stands even against root.
	Holds bool

	// Vacuous says why no control can show the attempt succeed; "" = one does.
	Vacuous string

	// Inbound has the internet knock at the attempt's port meanwhile.
	Inbound bool

	// Event is what befalls the firewall during the attempt, see the runner. The
	// attempt goes on until Over says that the event is over.
	Event string

	// Slow is for attempts that wait for more than a minute.
	Slow bool
}

// All returns every attack. The place in the list is the attack's number,
// which its addresses and its port are made of.
func All() []Attack {
	return slices.Concat(resolverAttacks(), tunnelAttacks(), answerAttacks(), directAttacks(), webAttacks(),
		linkAttacks(), packetAttacks(), socketAttacks(), privilegeAttacks(), wallAttacks(), lifeAttacks())
}

// marks are what an attempt's traffic can be known by.
type marks struct {
	v4, v6 netip.Addr
	port   uint16
	word   string
}

func marksOf(id string, number int) marks {
	v6 := evilNet6.Addr().As16()
	v6[14], v6[15] = byte(number>>8), byte(number)
	v4 := evilNet4.Addr().As4()
	v4[3] = byte(number + 1)
	return marks{netip.AddrFrom4(v4), netip.AddrFrom16(v6), uint16(20000 + number), "leak-" + id}
}

// on reports whether the event bears the marks.
func (m marks) on(e Event) bool {
	// The TLS port of a name has no mark, but the name has.
	if bytes.Contains(bytes.ToLower(e.Raw), []byte(m.word)) {
		return true
	}
	for _, a := range []netip.Addr{e.Src, e.Dst} {
		if a == m.v4 || a == m.v6 {
			return true
		}
	}
	return e.DstPort == m.port || e.SrcPort == m.port
}

// leaks reports whether the event is the success of attack number n.
func (a Attack) leaks(number int, e Event) bool {
	if a.Leak != nil {
		return a.Leak(e)
	}
	return marksOf(a.ID, number).on(e)
}

// Event is one thing that arrived at the internet.
type Event struct {
	Kind EventKind

	Src, Dst         netip.Addr // of packets; Dst also of questions and sites
	SrcPort, DstPort uint16
	Proto, Type      uint8  // of packets; Type is ICMP's
	Options          bool   // of packets: IP options or extension headers
	EtherType        uint16 // of frames that are no IP

	Name  string // of questions and sites, as sent
	QType uint16
	ID    uint16 // of questions
	Raw   []byte // all of it
}

// EventKind says what arrived.
type EventKind string

// The kinds of events.
const (
	PacketEvent   EventKind = "packet"
	FrameEvent    EventKind = "frame"    // no IP packet
	QuestionEvent EventKind = "question" // at a name server
	SiteEvent     EventKind = "site"     // TLS server name, HTTP Host or first bytes at a server
)

func (e Event) String() string {
	switch e.Kind {
	case FrameEvent:
		return fmt.Sprintf("frame of type %#04x", e.EtherType)
	case QuestionEvent:
		return fmt.Sprintf("question at %s: %q type %d", e.Dst, e.Name, e.QType)
	case SiteEvent:
		return fmt.Sprintf("at the server %s: %q", netip.AddrPortFrom(e.Dst, e.DstPort), e.Name)
	}
	options := ""
	if e.Options {
		options = " with options"
	}
	return fmt.Sprintf("packet of protocol %d type %d, %s -> %s%s", e.Proto, e.Type, netip.AddrPortFrom(e.Src, e.SrcPort),
		netip.AddrPortFrom(e.Dst, e.DstPort), options)
}

// to accepts packets to an address.
func to(addr string) func(Event) bool {
	a := netip.MustParseAddr(addr)
	return func(e Event) bool { return e.Kind == PacketEvent && e.Dst == a }
}

// asked accepts questions for a name or one below it.
func asked(name string) func(Event) bool {
	return func(e Event) bool {
		n := strings.ToLower(e.Name)
		return e.Kind == QuestionEvent && (n == name || strings.HasSuffix(n, "."+name))
	}
}

// askedType accepts questions of a type.
func askedType(t uint16) func(Event) bool {
	return func(e Event) bool { return e.Kind == QuestionEvent && e.QType == t }
}

// site accepts requests for a site at an address.
func site(addr, name string) func(Event) bool {
	a := netip.MustParseAddr(addr)
	return func(e Event) bool { return e.Kind == SiteEvent && e.Dst == a && strings.Contains(e.Name, name) }
}

// honestFrame accepts address resolution of the sandbox's own address.
func honestFrame(e Event) bool {
	sandbox := [4]byte{192, 0, 2, 2}
	const sender = 14 // offset of the sender's address in ARP, RFC 826
	return e.EtherType == 0x0806 && len(e.Raw) >= sender+4 && bytes.Equal(e.Raw[sender:sender+4], sandbox[:])
}
